"""What readers hold: facts and changes as of one commit, in process or in frames."""
