"""Sub-commands that this application adds to `navi`; light modules, which import what they need when they run."""
