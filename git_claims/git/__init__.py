"""Everything that starts git or opens pygit2."""
