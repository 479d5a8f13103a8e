module.exports = globalThis.loadOnce('prom-client');
