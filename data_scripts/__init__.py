"""One script a corpus: get, verify, convert, count. ``dicebook data`` lists them."""
