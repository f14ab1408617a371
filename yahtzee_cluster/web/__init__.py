"""The coach in the browser: the page, and the server that answers its questions."""
