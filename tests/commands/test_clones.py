"""Several clones at once: what `.agent-repos` lists is served from the folder it lies in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.agents import Answer
from tests.commands.telling import block, holders, plant, shown
from tests.forked import ForkedAgent
from tests.github_double import GitHub
from tests.places import Clone, Server, make_clone

QUEUED = ("ready", "afk")
WEB = "acme/web"


@pytest.fixture
def web(github: GitHub) -> Server:
    """A second repository."""
    return github.add_repository(WEB)


@pytest.fixture
def desk(github: GitHub, web: Server, tmp_path: Path) -> ForkedAgent:
    """An agent in a folder with clones of both repositories, which a list names."""
    folder = tmp_path / "desk"
    folder.mkdir()
    make_clone(github.server, folder, "books")
    make_clone(web, folder, "web")
    (folder / ".agent-repos").write_text("# what is worked on\nbooks\n\nweb  # the shop\n")
    return ForkedAgent(Clone(folder, github.server), "chain-octo", github.environment("octo"))


@pytest.fixture
def queues(github: GitHub, web: Server) -> None:
    """Work in both, that frees most in the second."""
    github.add_issue(1, "Round the totals", labels=QUEUED)
    github.add_issue(2, "Draw the shop", labels=QUEUED, repo=WEB)
    github.add_issue(3, "Open the shop", labels=QUEUED, blocked_by=[2], repo=WEB)
    github.add_issue(4, "Print the bill", labels=QUEUED, blocked_by=["acme/web#2"])


def lists(desk: ForkedAgent, *lines: str) -> None:
    (desk.clone.path / ".agent-repos").write_text("".join(f"{line}\n" for line in lines))


def silence(desk: ForkedAgent, clone: str = "web") -> None:
    """Nobody answers at the remote of a clone."""
    desk.clone.git("-C", clone, "config", "remote.origin.url", "git@github.com:acme/nowhere.git")


def names(answer: Answer, key: str) -> list[str]:
    found = answer.json[key]
    assert isinstance(found, list), answer
    return [f"{entry['repo']} {entry['item']}" for entry in found]


# The list


def test_comments_and_empty_lines_of_the_list_are_none_of_it(desk: ForkedAgent, queues: None) -> None:
    assert shown(desk.claim("ready")) == block("""
        exit 0
        --- stdout
        READY          UNBLOCKS  TITLE
        acme/web#2     2         Draw the shop
        acme/ledger#1  0         Round the totals
        ITEM           NOT READY                                                   TITLE
        acme/ledger#4  blocked by acme/web#2, which is open in another repository  Print the bill
        acme/web#3     blocked by #2, which is open                                Open the shop
        --- stderr
        acme/ledger: 1 ready, 0 at work
        acme/web: 1 ready, 0 at work
        """)


def test_folder_without_a_list_says_what_could_be_done(desk: ForkedAgent) -> None:
    (desk.clone.path / ".agent-repos").unlink()
    answer = desk.claim("ready", "--json")
    assert (answer.status, answer.at("reason")) == (128, "no-repository")
    assert "or list clones in .agent-repos, one path a line" in str(answer.at("hint"))


@pytest.mark.parametrize("words", ["ls", "ready", "42", "next --take", "mine"])
def test_list_without_a_clone_says_so(words: str, desk: ForkedAgent) -> None:
    lists(desk, "# nothing yet")
    answer = desk.claim(*words.split(), "--json")
    assert (answer.status, answer.at("error")) == (128, ".agent-repos lists no clone"), answer


@pytest.mark.parametrize("words", ["ls", "ready", "mine", "sync", "lanes"])
@pytest.mark.parametrize(
    ("line", "reason", "said"),
    [
        ("nowhere", "no-repository", "nowhere was left out: there is no such directory\nhint: mend that line"),
        ("plain", "no-repository", "plain was left out: "),
    ],
)
def test_line_that_leads_to_no_clone_is_named_and_the_others_are_served(
    words: str, line: str, reason: str, said: str, desk: ForkedAgent, queues: None
) -> None:
    (desk.clone.path / "plain").mkdir()
    lists(desk, "books", line)
    answer = desk.claim(words, "--json")
    assert (answer.status, answer.at("left_out", 0, "clone"), answer.at("left_out", 0, "reason")) == (3, line, reason)
    assert f"warning: {said}" in answer.stderr, answer


@pytest.mark.parametrize("words", ["42", "books#42", "ls", "mine"])
def test_list_that_leads_nowhere_at_all_is_an_error(words: str, desk: ForkedAgent) -> None:
    lists(desk, "nowhere")
    answer = desk.claim(*words.split())
    assert answer.status in {3, 128} and "there is no such directory" in answer.stderr, answer
    assert "internal error" not in answer.stderr


def test_two_clones_of_one_repository_are_one_queue(github: GitHub, desk: ForkedAgent, queues: None) -> None:
    make_clone(github.server, desk.clone.path, "again")
    lists(desk, "books", "again")
    assert names(desk.claim("ready", "--json"), "ready") == ["acme/ledger issue-1"]
    lane = desk.claim("next", "--start", check=0).stdout
    assert lane.startswith(f"{desk.clone.path}/books/.worktrees/1-")


def test_inside_a_repository_only_that_one_is_served(github: GitHub, desk: ForkedAgent, queues: None) -> None:
    inside = ForkedAgent(Clone(desk.clone.path / "web", github.server), desk.chain, desk.environment)
    (inside.clone.path / ".agent-repos").write_text("../books\n")
    assert names(inside.claim("ready", "--json"), "ready") == ["acme/web issue-2"]
    assert inside.claim("acme/ledger#1").status == 2


# One that is down


@pytest.mark.parametrize("words", ["ls", "ready", "mine", "sync", "lanes"])
def test_repository_that_is_down_is_named_and_does_not_stop_the_rest(
    words: str, desk: ForkedAgent, queues: None
) -> None:
    desk.claim("books#1", check=0)
    silence(desk)
    answer = desk.claim(words)
    assert answer.status == 3 and "warning: web was left out: " in answer.stderr, answer
    assert "acme/ledger" in answer.stdout or words in {"lanes", "sync"}
    document = desk.claim(words, "--json")
    assert (document.status, document.at("left_out", 0, "clone")) == (3, "web")
    assert set(document.json["left_out"][0]) == {"clone", "reason", "error"}  # type: ignore[index]


def test_repository_that_is_down_is_not_an_empty_queue(github: GitHub, desk: ForkedAgent) -> None:
    silence(desk)
    answer = desk.claim("next", "--take", "--json")
    assert (answer.status, answer.at("state"), answer.at("skipped", 0, "name")) == (3, "cannot-tell", "web"), answer


def test_next_takes_what_can_be_seen_and_names_what_cannot(github: GitHub, desk: ForkedAgent, queues: None) -> None:
    silence(desk)
    answer = desk.claim("next", "--take", check=0)
    assert answer.stdout == "claimed acme/ledger#1 for chain-octo\n" and "web was left out" in answer.stderr


def test_repository_without_queue_labels_is_skipped_and_says_why(github: GitHub, desk: ForkedAgent) -> None:
    for label in ("ready", "afk", "hitl"):
        github.drop_label(label, repo=WEB)
    answer = desk.claim("ready", "--json")
    assert (answer.status, answer.at("state"), answer.at("left_out")) == (1, "drained", [])
    assert "it has no queue labels" in str(answer.at("skipped", 0, "why"))
    assert "acme/web was skipped: it has no queue labels" in answer.stderr


def test_repository_without_a_tracker_is_skipped_beside_others(desk: ForkedAgent, queues: None) -> None:
    (desk.clone.path / "web/.claims.toml").write_text('tracker = "none"\n')
    answer = desk.claim("ready", check=0)
    assert "acme/web was skipped: no tracker shows its issues" in answer.stderr


# Items


@pytest.mark.parametrize("name", ["acme/ledger#1", "books#1", "ledger#1", "https://github.com/acme/ledger/issues/1"])
def test_item_is_found_by_its_repository_or_directory(
    name: str, github: GitHub, desk: ForkedAgent, queues: None
) -> None:
    answer = desk.claim("take", name, check=0)
    assert answer.stdout == "claimed acme/ledger#1 for chain-octo\n"
    assert desk.claim("show", name, check=0).stdout.startswith("issue ")
    desk.claim("release", name, "--abandoned", check=0)
    assert holders(github.server) == {}


def test_bare_number_is_asked_back(github: GitHub, desk: ForkedAgent, queues: None) -> None:
    answer = desk.claim("1")
    assert (answer.status, answer.stderr) == (
        2,
        "error: '1' of which repository? Served are: acme/ledger, acme/web\nhint: write it as in 'acme/ledger#1'\n",
    )
    lists(desk, "books")
    desk.claim("1", check=0)
    assert holders(github.server) == {"issue-1": "chain-octo"}


def test_items_of_two_repositories_are_refused(github: GitHub, web: Server, desk: ForkedAgent, queues: None) -> None:
    answer = desk.claim("books#1", "web#2")
    assert (answer.status, answer.stderr.splitlines()[0]) == (2, "error: items of several repositories")
    assert (holders(github.server), holders(web)) == ({}, {})


def test_repository_that_is_not_served_is_named(desk: ForkedAgent) -> None:
    answer = desk.claim("acme/shop#1")
    assert answer.status == 2 and "'acme/shop' is none of the repositories served here" in answer.stderr


def test_clone_without_a_remote_stops_no_item_of_another(github: GitHub, desk: ForkedAgent, queues: None) -> None:
    desk.clone.git("-C", "web", "remote", "remove", "origin")
    desk.claim("books#1", check=0)
    assert holders(github.server) == {"issue-1": "chain-octo"}
    assert "no remote" in desk.claim("web#2").stderr


def test_hints_and_commands_that_follow_lead_to_the_clone(
    github: GitHub, web: Server, desk: ForkedAgent, queues: None
) -> None:
    plant(web, "issue-2", "chain-ada")
    assert "'git claim -C web " in desk.claim("web#2").stderr
    desk.claim("books#1", check=0)
    assert "acme/ledger#1  git claim -C books start 1 " in desk.claim("mine").stdout
    answer = desk.claim("mine", "--json", check=0)
    assert answer.at("next") == ["git claim -C books start 1"]
    assert answer.at("mine", 0, "clone") == str(desk.clone.path / "books")
    desk.claim("-C", "books", "start", "1", check=0)


@pytest.mark.parametrize("words", ["reclaim web#2", "land web#2"])
def test_hint_of_a_command_that_was_refused_leads_to_the_clone(
    words: str, web: Server, desk: ForkedAgent, queues: None
) -> None:
    plant(web, "issue-2", "chain-octo" if "land" in words else "chain-ada")
    answer = desk.claim(*words.split())
    assert answer.status == 1 and re.search("^hint: .*'git claim -C web ", answer.stderr, re.MULTILINE), answer
    assert "'git claim -C web " in str(desk.claim(*words.split(), "--json").at("hint"))


def test_line_that_leads_to_no_repository_is_to_be_mended(desk: ForkedAgent) -> None:
    (desk.clone.path / "plain").mkdir()
    lists(desk, "plain", "books")
    answer = desk.claim("ls")
    assert answer.stderr.endswith("hint: mend that line of .agent-repos\n") and " -C " not in answer.stderr, answer


@pytest.mark.parametrize("words", ["release --all", "sync --release-idle", "renew"])
def test_command_without_an_item_that_serves_one_clone_says_how_it_is_told_which(
    words: str, desk: ForkedAgent, queues: None
) -> None:
    desk.claim("web#2", check=0)
    answer = desk.claim(*words.split())
    assert answer.status == 128 and "repeat it with -C and one of those that .agent-repos lists" in answer.stderr
    desk.claim("release", "--all", "-C", "web", check=0)


def test_what_is_said_of_an_item_names_its_repository(web: Server, desk: ForkedAgent, queues: None) -> None:
    assert "released acme/web#2 (abandoned)\n" in desk.claim("exec", "web#2", "--", "false").stderr
    assert desk.claim("release", "web#2", "--ci-done").stdout == "ci-monitoring ended for acme/web#2\n"
    desk.claim("web#2", "--bundle", "web#3", check=0)
    assert "bundled with acme/web#2" in desk.claim("ls", check=0).stdout
    idle = desk.claim("sync", "-C", "web", "--release-idle", "--dry-run", check=0)
    assert idle.stdout == "idle: acme/web#2, acme/web#3\n"


# Commands over all of them


def test_ls_lists_the_claims_of_all_with_their_repositories(
    github: GitHub, web: Server, desk: ForkedAgent, queues: None
) -> None:
    plant(github.server, "issue-4", "chain-ada")
    plant(web, "issue-3", "chain-ada")
    assert names(desk.claim("ls", "--json", check=0), "claims") == ["acme/ledger issue-4", "acme/web issue-3"]
    listed = desk.claim("ls", check=0).stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["ITEM", "acme/ledger#4", "acme/web#3"]


def test_mine_and_lanes_show_what_is_held_everywhere_in_the_order_of_the_list(desk: ForkedAgent, queues: None) -> None:
    for name in ("web#3", "web#2", "books#1"):
        desk.claim("start", name, check=0)
    assert names(desk.claim("mine", "--json", check=0), "mine") == [
        *("acme/ledger issue-1", "acme/web issue-2", "acme/web issue-3")
    ]
    found = desk.claim("lanes", check=0).stdout.splitlines()
    assert [line.split()[0] for line in found] == ["ITEM", "acme/ledger#1", "acme/web#2", "acme/web#3"]


def test_sync_repairs_in_all_of_them(github: GitHub, desk: ForkedAgent, queues: None) -> None:
    desk.claim("books#1", check=0)
    desk.claim("web#2", check=0)
    github.issue(1).assignees.clear()
    github.issue(2, repo=WEB).labels.remove("in-progress")
    assert desk.claim("sync", check=0).stdout == (
        "repaired acme/ledger#1: no-signals: missing: assignee octo\n"
        "repaired acme/web#2: no-signals: missing: label in-progress\n"
    )
    assert (github.issue(1).assignees, "in-progress" in github.issue(2, repo=WEB).labels) == (["octo"], True)


def test_next_takes_across_repositories_what_frees_most(
    github: GitHub, web: Server, desk: ForkedAgent, queues: None
) -> None:
    assert desk.claim("next", "--take", check=0).stdout == "claimed acme/web#2 for chain-octo\n"
    assert (holders(github.server), holders(web)) == ({}, {"issue-2": "chain-octo"})
    refused = desk.claim("next", "--take")
    assert refused.status == 1 and "still holds acme/web#2" in refused.stderr
    assert desk.claim("next", "--take", "--another", check=0).stdout == "claimed acme/ledger#1 for chain-octo\n"


def test_number_that_is_pinned_across_repositories_is_asked_back_where_several_have_it(
    github: GitHub, web: Server, desk: ForkedAgent, queues: None
) -> None:
    github.add_issue(1, "Paint the shop", labels=QUEUED, repo=WEB)
    answer = desk.claim("next", "--take", "--pin", "1")
    said = "'1' fits several: acme/ledger#1 'Round the totals'; acme/web#1 'Paint the shop'"
    assert answer.status == 1 and said in answer.stderr, answer
    desk.claim("next", "--take", "--pin", "web#1", check=0)
    assert (holders(github.server), holders(web)) == ({}, {"issue-1": "chain-octo"})
