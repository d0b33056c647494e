"""Completion scripts: what click generates for `git-claim`, and the bridge by which each shell's git finds it."""

import click
from click.shell_completion import get_completion_class

_VARIABLE = "_GIT_CLAIM_COMPLETE"

# git's own bash completion calls _git_<command>; the words it sees begin with `git`.
_BASH = """
_git_claim() {
    local IFS=$'\\n' response
    local words_before=("${words[@]:1}")
    words_before[0]=git-claim
    response=$(COMP_WORDS="${words_before[*]}" COMP_CWORD="$((cword - 1))" \\
        _GIT_CLAIM_COMPLETE=bash_complete git-claim)
    local completion kind value
    for completion in $response; do
        IFS=',' read -r kind value <<< "$completion"
        case $kind in
            dir | file) COMPREPLY=(); compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done
}
"""

# git's zsh completion looks for a function of this name.
_ZSH = """
_git-claim() {
    words[1]=git-claim
    _git_claim_completion
}
"""

_FISH = """
complete --no-files --command git --condition "__fish_seen_subcommand_from claim" --arguments "(_git_claim_in_git)"
function _git_claim_in_git
    set -l words (commandline -cp | string replace -r '^\\\\s*git\\\\s+claim' 'git-claim')
    set -l response (env _GIT_CLAIM_COMPLETE=fish_complete COMP_WORDS="$words" COMP_CWORD=(commandline -t) git-claim)
    for completion in $response
        set -l metadata (string split "," $completion)
        test $metadata[1] = plain; and echo $metadata[2]
    end
end
"""


def script(shell: str, command: click.Command) -> str:
    """Returns the script for `bash`, `zsh` or `fish`; to be sourced, or put where the shell looks for completions."""
    found = get_completion_class(shell)
    assert found is not None, "the command line offers only shells that click knows"
    source = found(command, {}, "git-claim", _VARIABLE).source()
    return source + {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}[shell]
