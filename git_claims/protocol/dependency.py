"""What depends on what, as plain numbers: which belong to a cycle, and how much waits for each. Knows no issue.

No function recurses: a chain of ten thousand issues is no deeper than one of two.
"""

from collections.abc import Iterator, Sequence

Successors = Sequence[Sequence[int]]


def components(successors: Successors) -> list[list[int]]:
    """Returns the strongly connected components; each comes after all that can be reached from it (Tarjan)."""
    found: list[list[int]] = []
    # 0 where nobody was yet; the greatest of all once the component is found, so that nobody takes it for a way back.
    number, low = [0] * len(successors), [0] * len(successors)
    done, met, waiting = len(successors) + 1, 0, list[int]()
    for root in range(len(successors)):
        path: list[tuple[int, Iterator[int]]] = []
        entering = root if not number[root] else None
        while entering is not None or path:
            if entering is not None:
                met += 1
                number[entering] = low[entering] = met
                waiting.append(entering)
                path.append((entering, iter(successors[entering])))
                entering = None
            node, rest = path[-1]
            least = low[node]
            for successor in rest:
                if not number[successor]:
                    entering = successor
                    break
                if number[successor] < least:
                    least = number[successor]
            low[node] = least
            if entering is not None:
                continue
            path.pop()
            if path and least < low[path[-1][0]]:
                low[path[-1][0]] = least
            if least == number[node]:
                found.append(_split(waiting, node))
                for member in found[-1]:
                    number[member] = done
    return found


def cycles(successors: Successors, found: Sequence[Sequence[int]]) -> list[list[int]]:
    """Returns the components that are cycles, also of one that depends on itself; each in ascending order."""
    return sorted(sorted(each) for each in found if len(each) > 1 or each[0] in successors[each[0]])


def reach(successors: Successors, found: Sequence[Sequence[int]]) -> list[int]:
    """Returns how many others can be reached from each, directly or not. `found` is what `components` answers."""
    # Sets of bits: an or of ten thousand bits costs less than a look into a set of Python's.
    reached, counts, bits = [0] * len(successors), [0] * len(successors), 0
    for members in found:
        union = ((1 << len(members)) - 1) << bits
        bits += len(members)
        for member in members:
            for successor in successors[member]:
                union |= reached[successor]
        others = union.bit_count() - 1
        for member in members:
            reached[member], counts[member] = union, others
    return counts


def _split(waiting: list[int], first: int) -> list[int]:
    """Takes `first` and all behind it off the stack."""
    at = len(waiting) - 1
    while waiting[at] != first:
        at -= 1
    members = waiting[at:]
    del waiting[at:]
    return members
