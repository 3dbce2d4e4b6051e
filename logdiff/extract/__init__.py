"""From lines to signals: what single messages, and structures of several lines, say."""
