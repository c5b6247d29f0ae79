"""One adapter per Kubernetes client, and the plain client around any of them. The only room that imports clients.

    adapters    which adapter carries for a client object: `transport_of`, `async_transport_of`
    kubernetes, kubernetes_async, lightkube, kr8s    the adapters; each imports its client only when one is passed in
    plainhttp   our own transport over httpx2, for `connect()`
    http1       our own HTTP/1.1 on asyncio, for `connect_async()`
    given       the clients' own objects as plain trees
    client      Client and AsyncClient: get, list, create, replace, patch, delete, watch
    kubeconfig  connect(): where the server is, and who we are

An adapter turns our Request into its client's call and the answer into ours. It never retries, never interprets a status, and
raises its client's own exception when there is no answer: what that means is the protocol's business.
"""
