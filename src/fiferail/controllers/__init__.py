"""Controllers: the queue, the cache and its informers, the reconcile loop, leader election, references and plans."""
