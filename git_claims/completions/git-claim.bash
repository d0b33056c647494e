# Completion of 'git claim' and 'git-claim' for bash. git's own completion finds _git_claim in a file of this name
# below a bash-completion directory, or in a shell that has sourced it.

# Asks the program itself; the words before the one being completed are its arguments.
__git_claim_reply() {
    local kind value
    COMPREPLY=()
    while IFS=',' read -r kind value; do
        case $kind in
            plain) COMPREPLY+=("$value") ;;
            dir) compopt -o dirnames 2>/dev/null ;;
            file) compopt -o default 2>/dev/null ;;
        esac
    done < <(COMP_WORDS="$1" COMP_CWORD="$2" _GIT_CLAIM_COMPLETE=bash_complete git-claim 2>/dev/null)
}

# Called by git's completion, which has put the whole line into words and cword.
_git_claim() {
    local place=1
    while [ "$place" -lt "$cword" ] && [ "${words[place]}" != claim ]; do place=$((place + 1)); done
    local own=(git-claim "${words[@]:place+1}")
    local IFS=$'\n'
    __git_claim_reply "${own[*]}" "$((cword - place))"
}

_git_claim_program() {
    local IFS=$'\n'
    __git_claim_reply "${COMP_WORDS[*]}" "$COMP_CWORD"
}

complete -o nosort -F _git_claim_program git-claim
