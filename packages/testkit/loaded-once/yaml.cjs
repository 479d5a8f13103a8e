module.exports = globalThis.loadOnce('yaml');
