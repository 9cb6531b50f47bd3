"""The compiled loop, results, parallel and resumable runs."""
