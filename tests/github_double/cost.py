"""What a GraphQL document costs by GitHub's published formula: points of the hourly limit, and nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    VariableNode,
)

MOST_NODES = 500_000


@dataclass(frozen=True, slots=True)
class Cost:
    """`connections`: how many lists have to be read; a hundred of them are one point."""

    connections: int = 0
    nodes: int = 0

    @property
    def points(self) -> int:
        return max(1, round(self.connections / 100))

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.connections + other.connections, self.nodes + other.nodes)


def cost_of(document: DocumentNode, variables: Mapping[str, object]) -> Cost:
    fragments = {
        each.name.value: each.selection_set for each in document.definitions if isinstance(each, FragmentDefinitionNode)
    }
    operations = [each for each in document.definitions if isinstance(each, OperationDefinitionNode)]
    return _of_set(operations[0].selection_set, 1, fragments, variables) if operations else Cost()


def _of_set(
    selections: SelectionSetNode | None,
    parents: int,
    fragments: Mapping[str, SelectionSetNode],
    variables: Mapping[str, object],
) -> Cost:
    """The cost of a selection that is made for each of `parents` objects."""

    def of(selection: SelectionNode) -> Cost:
        match selection:
            case FragmentSpreadNode():
                return _of_set(fragments[selection.name.value], parents, fragments, variables)
            case FieldNode():
                size = _page_size(selection, variables)
                own = Cost(parents, parents * size) if size else Cost()
                return own + _of_set(selection.selection_set, parents * (size or 1), fragments, variables)
            case InlineFragmentNode():
                return _of_set(selection.selection_set, parents, fragments, variables)
        raise AssertionError(selection)

    return sum(map(of, selections.selections if selections else ()), Cost())


def _page_size(selected: FieldNode, variables: Mapping[str, object]) -> int:
    for argument in selected.arguments or ():
        if argument.name.value in ("first", "last"):
            value = argument.value
            if isinstance(value, IntValueNode):
                return int(value.value)
            given = variables.get(value.name.value) if isinstance(value, VariableNode) else None
            return given if isinstance(given, int) else 0
    return 0
