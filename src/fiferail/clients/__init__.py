"""One adapter per Kubernetes client, and the plain client around any of them. The only package that imports clients.

    adapters    which adapter carries for a client object: `transport_of`, `async_transport_of`
    kubernetes, kubernetes_async, lightkube, kr8s    the adapters; each imports its client only when one is passed in
    plainhttp   our own transport over httpx2, for `connect()`, and for `connect_async()` through a proxy
    http1       our own HTTP/1.1 on asyncio, for `connect_async()`
    given       the clients' own objects as plain trees
    client      Client and AsyncClient: get, list, create, replace, patch, delete, watch
    kubeconfig  connect(): where the server is, and who we are
    kubefile, kubeyaml, secured, credentials, execplugin    the parts of a kubeconfig

An adapter turns our Request into its client's call and the answer into ours. It never retries, never interprets a status, and
raises its client's own exception when there is no answer: what that means is the protocol's business. Our own transports send a
request again in one case: it was answered 401, and a credential plugin or a token file has a new token.
"""
