"""Everything that talks to an issue tracker."""
