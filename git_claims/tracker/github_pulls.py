"""Pull requests on GitHub: found, opened once, read for landing, merged, and the logs of their checks.

What a write came to is told from a read, never from the absence of an error: a merge that GitHub queued answers like
one that happened, and an answer that was lost like one that did not.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from git_claims.errors import Refused, TrackerError, Trouble
from git_claims.protocol.excerpt import excerpt_of
from git_claims.protocol.item import Item, Kind
from git_claims.protocol.pull import (
    Check,
    Hindrance,
    Landing,
    Merging,
    Method,
    NewPull,
    Opened,
    Outcome,
    Pull,
    hindrance_of,
)
from git_claims.protocol.text import printable
from git_claims.tracker import github_pull_answers as answers
from git_claims.tracker import github_pull_queries as queries
from git_claims.tracker.github_answers import is_damaged
from git_claims.tracker.github_pull_queries import Way
from git_claims.tracker.github_queries import Document, Place
from git_claims.tracker.github_writer import Ask
from git_claims.tracker.model import Edit, Edited, PullState, Step
from git_claims.tracker.pace import Pace
from git_claims.tracker.reply import Answer, Fault
from git_claims.tracker.tree import Tree, understood

_ATTEMPTS = 3
_CHECK_PAGES = 10
# A refusal inside an answer of status 200 comes without Retry-After; GitHub asks for a minute.
_LIMIT_SECONDS = 60.0
_UNTOLD = Fault("GitHub did not say why")


class Pulls:
    """The pull requests of one repository; what it is made of is the tracker's."""

    def __init__(
        self,
        ask: Ask,
        repository: Callable[[Answer], Tree],
        apply: Callable[[Sequence[Edit]], dict[Item, Edited]],
        log: Callable[[int], str],
        pace: Pace,
    ) -> None:
        self._ask, self._repository, self._apply, self._log, self._pace = ask, repository, apply, log, pace

    def find(self, branch: str) -> tuple[Pull, ...]:
        """Finds the pull requests of a branch of this repository: the open ones first, the newest of each in front."""
        return self._find(branch)[1]

    def _find(self, branch: str) -> tuple[str, tuple[Pull, ...]]:
        answer = self._ask(lambda place: queries.find_document(place, branch))
        with understood():
            is_damaged(answer.faults, "open", "ended")
            repository = self._repository(answer)
            return repository.at("id").text, answers.pulls_of(repository)

    def open(self, new: NewPull) -> Opened:
        """Opens a pull request, or finds the one that is open for that branch already; to be called under the lock.

        Raises Refused with GitHub's words where it will have none.
        """
        lost: TrackerError | None = None
        for _ in range(_ATTEMPTS):
            # Also after an answer that was lost: what was opened then is found here.
            repository_id, pulls = self._find(new.head)
            if there := _open_one(pulls, new):
                return Opened(there, is_new=lost is not None)
            try:
                opened = self._create(repository_id, new)
            except TrackerError as error:
                if not error.maybe_applied:
                    raise
                lost = error
                continue
            if opened is not None:
                return Opened(opened, is_new=True)
        raise lost or TrackerError(Trouble.SERVER, f"GitHub neither opens nor shows a pull request of '{new.head}'")

    def _create(self, repository_id: str, new: NewPull) -> Pull | None:
        """Opens it; None where it has to be looked for or asked for again."""
        answer = self._write(lambda _: queries.open_document(repository_id, new))
        with understood():
            if pull := answer.data.at("done", "pullRequest"):
                return answers.pull_of(pull)
        fault = next(iter(answer.faults), _UNTOLD)
        if "already exists" in fault.message:
            return None
        raise _not_opened(new, fault)

    def assign(self, opened: Opened, logins: frozenset[str]) -> Opened:
        """Assigns who is not assigned yet, beside whoever is; that somebody cannot be is told and no error."""
        there = {login.casefold() for login in opened.pull.assignees}
        missing = frozenset(login for login in logins if login.casefold() not in there)
        if not missing:
            return opened
        item = Item(Kind.PULL, str(opened.pull.number))
        failed = self._apply([Edit(item, add_assignees=missing)])[item].failed
        names = opened.pull.assignees + (() if failed else tuple(sorted(missing)))
        return replace(opened, pull=replace(opened.pull, assignees=names), unassigned=failed.get(Step.ADD_ASSIGNEES))

    def read(self, number: int) -> Landing | None:
        """Reads all that decides about merging, with all checks; None where there is no such pull request."""
        answer = self._ask(lambda place: queries.landing_document(place, number))
        with understood():
            damaged = is_damaged(answer.faults, "pullRequest")
            tree = self._repository(answer).at("pullRequest")
            return self._landing(tree, damaged) if tree else None

    def _landing(self, tree: Tree, damaged: bool) -> Landing:
        number, head_oid = tree.at("number").number, tree.at("headRefOid").text
        pages = [answers.checks_page_of(tree, head_oid=head_oid, is_damaged=damaged)]
        while (cursor := pages[-1].cursor) is not None and len(pages) < _CHECK_PAGES:
            pages.append(self._more_checks(number, cursor, head_oid))
        return answers.landing_of(tree, pages)

    def _more_checks(self, number: int, cursor: str, head_oid: str) -> answers.ChecksPage:
        answer = self._ask(lambda place: queries.checks_document(place, number, cursor))
        damaged = is_damaged(answer.faults, "pullRequest")
        return answers.checks_page_of(self._repository(answer).at("pullRequest"), head_oid=head_oid, is_damaged=damaged)

    def merge(self, landing: Landing, method: Method, *, when_ready: bool) -> Merging:
        """Merges exactly the head that was read, or has it queued; to be called under the lock.

        An answer that was lost is read again, and only what is merged counts. Raises where nothing can have happened.
        """
        way = Way.WHEN_READY if when_ready else Way.QUEUE if landing.has_queue else Way.NOW
        merging = self._merge(way, landing, method)
        other = _other_way(way, merging)
        return self._merge(other, landing, method) if other else merging

    def _merge(self, way: Way, landing: Landing, method: Method) -> Merging:
        try:
            answer = self._write(lambda place: queries.merge_document(place, way, landing.pull, method))
        except TrackerError as error:
            return self._unanswered(landing, error)
        with understood():
            done = answer.data.at("done")
            if not done:
                return self._refused(landing, next(iter(answer.faults), _UNTOLD))
            tree = done.at(*(["mergeQueueEntry"] if way is Way.QUEUE else []), "pullRequest")
            damaged = bool(answer.faults)
            return _judged(self._landing(tree, damaged) if tree else self._read_again(landing))

    def _unanswered(self, landing: Landing, error: TrackerError) -> Merging:
        if error.trouble is Trouble.FORBIDDEN:
            return Merging(Outcome.REFUSED, landing, Hindrance.NOT_PERMITTED, error.message)
        if not error.maybe_applied:
            raise error
        return replace(_judged(self._read_again(landing)), said=error.message)

    def _refused(self, landing: Landing, fault: Fault) -> Merging:
        """Finds the reason of a refusal; that it was merged meanwhile is none."""
        now, said = self._read_again(landing), _words_of(fault)
        judged = _judged(now)
        if judged.outcome is not Outcome.UNKNOWN:
            return replace(judged, said=said)
        if fault.kind in {"FORBIDDEN", "INSUFFICIENT_SCOPES"}:
            return Merging(Outcome.REFUSED, now, Hindrance.NOT_PERMITTED, said)
        return Merging(Outcome.REFUSED, now, _reason(fault, landing, now), said)

    def _read_again(self, landing: Landing) -> Landing | None:
        with suppress(TrackerError):
            return self.read(landing.pull.number)
        return None

    def _write(self, document_of: Callable[[Place], Document]) -> Answer:
        """Sends a write, again where it only came too soon."""
        for _ in range(_ATTEMPTS):
            self._pace.space_out()
            try:
                answer = self._ask(document_of, is_write=True)
            finally:
                self._pace.wrote()
            limit = next((fault for fault in answer.faults if fault.is_limit), None)
            if limit is None:
                return answer
            error = TrackerError(Trouble.RATE_LIMITED, f"GitHub says: {limit.message}", wait_seconds=_LIMIT_SECONDS)
            self._pace.wait(_LIMIT_SECONDS, error)
        raise error

    def log_of(self, check: Check) -> str:
        """Reads why a check failed: the end of its job's log, else what it said of itself. Never raises."""
        with suppress(TrackerError):
            if check.job is not None and (log := excerpt_of(self._log(check.job))):
                return log
        with suppress(TrackerError):
            if check.id is not None and (output := self._output(check.id)):
                return output
        return excerpt_of(check.summary)

    def _output(self, check_id: str) -> str:
        answer = self._ask(lambda place: queries.output_document(place, check_id))
        with understood():
            said = [answer.data.at("check", name).text_or_none for name in ("title", "summary", "text")]
            return excerpt_of("\n\n".join(filter(None, said)))


def _open_one(pulls: Sequence[Pull], new: NewPull) -> Pull | None:
    """Returns the open pull request of the branch; of several the one into the same base."""
    there = [pull for pull in pulls if pull.state is PullState.OPEN]
    return next((pull for pull in there if pull.base == new.base), next(iter(there), None))


def _not_opened(new: NewPull, fault: Fault) -> Refused | TrackerError:
    said = _words_of(fault)
    if fault.kind in {"FORBIDDEN", "INSUFFICIENT_SCOPES"}:
        return TrackerError(Trouble.FORBIDDEN, said)
    return Refused(f"no pull request can be opened of '{new.head}' into '{new.base}': {said}")


def _words_of(fault: Fault) -> str:
    return f"GitHub says: {printable(' '.join(fault.message.split()))}"


def _judged(landing: Landing | None) -> Merging:
    """Says what a pull request that was asked to be merged came to, by what it shows."""
    if landing is None:
        return Merging(Outcome.UNKNOWN, None)
    if landing.is_merged:
        return Merging(Outcome.MERGED, landing)
    if landing.is_queued:
        return Merging(Outcome.QUEUED, landing)
    return Merging(Outcome.AUTO_MERGE if landing.auto_merge else Outcome.UNKNOWN, landing)


def _reason(fault: Fault, before: Landing, now: Landing | None) -> Hindrance:
    """Says why GitHub refused: by its words, by what it shows now, and else by a rule that it does not show."""
    if (said := answers.reason_of(fault.message)) is not None:
        return said
    if now is not None and now.pull.head_oid != before.pull.head_oid:
        return Hindrance.HEAD_MOVED
    if now is not None and (shown := hindrance_of(now)) is not None:
        return shown
    return Hindrance.UNSETTLED if "not mergeable" in fault.message else Hindrance.PROTECTED


def _other_way(way: Way, merging: Merging) -> Way | None:
    """Returns how to ask instead, where GitHub refused only the way it was asked."""
    if merging.outcome is not Outcome.REFUSED:
        return None
    if way is Way.NOW and "merge queue" in merging.said:
        return Way.QUEUE
    # What could be merged at once cannot be told to merge when it can.
    return Way.NOW if way is Way.WHEN_READY and "in clean status" in merging.said else None
