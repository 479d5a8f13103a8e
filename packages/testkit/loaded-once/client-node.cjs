module.exports = globalThis.loadOnce('@kubernetes/client-node');
