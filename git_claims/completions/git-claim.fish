# Completion of 'git claim' and 'git-claim' for fish.

function __git_claim_complete
    set -l words (commandline -opc) (commandline -ct)
    if test "$words[1]" = git
        set words git-claim $words[3..]
    end
    set -l asked (string join ' ' -- $words)
    for answer in (env _GIT_CLAIM_COMPLETE=fish_complete COMP_WORDS="$asked" COMP_CWORD=(commandline -ct) git-claim 2>/dev/null)
        set -l parts (string split -m 1 , -- $answer)
        if test "$parts[1]" = plain
            echo $parts[2]
        end
    end
end

function __git_claim_in_git
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test "$words[2]" = claim
end

complete --no-files --command git-claim --arguments '(__git_claim_complete)'
complete --no-files --command git --condition __git_claim_in_git --arguments '(__git_claim_complete)'
