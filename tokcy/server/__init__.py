"""The HTTP frontend `tokcy serve`; `tokcy.server.command` starts it."""
