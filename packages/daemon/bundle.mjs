// Bundles a program into one CommonJS file: `node bundle.mjs ENTRY OUTFILE [MODULE...]`; MODULE is a
// module of REPLACED below that the program needs. Also writes, for the bundled packages, their licences
// (NAME.licenses.txt) and their paths in the lock file (NAME.packages.json).
//
// CommonJS, because a banner then runs before any import: a Node that is too old gets one line
// instead of a stack trace from the middle of a dependency.
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const [entry, outfile, ...needed] = process.argv.slice(2);
if (!entry || !outfile) {
  console.error('usage: node bundle.mjs ENTRY OUTFILE [MODULE...]');
  process.exit(2);
}
const rootFolder = fileURLToPath(new URL('../../', import.meta.url));
const root = JSON.parse(readFileSync(join(rootFolder, 'package.json'), 'utf8'));
const [major, minor] = root.engines.node.match(/\d+/g).map(Number);
const program = basename(outfile, '.cjs');

// The shell in which npx runs a program ends at SIGTERM and does not pass it on, and `kube-dns up` may be
// killed. The program would run on without anyone to end it, so it takes the end of its parent for a SIGTERM.
const PARENT_CHECK_MS = 250;

// A signal that arrives while the modules are loaded waits for the handlers of `SignalHandling`, which libuv calls in
// the first turn of the event loop: without a listener it has its default, which ends the process or, for SIGUSR1,
// opens Node's inspector. Before this line `--disable-sigusr1` does that. The other bundles are commands.
const SERVICES = ['kubedns', 'dnsmasq', 'sidecar', 'node-cache'];
const holdSignals = SERVICES.includes(program)
  ? `
['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'].forEach(function (signal) {
  process.on(signal, function () {});
});`
  : '';

// A Node that is too old for the option ends with "bad option"; without it, with our own line. `//usr/bin/env` is a
// program for the shell, and a comment for Node. The files of `bin/` begin in the same way.
const shell = `//usr/bin/env node --disable-sigusr1 -v >/dev/null 2>&1 || exec node "$0" "$@"; exec node --disable-sigusr1 "$0" "$@"`;

const banner = `#!/bin/sh
${shell}
(function () {
  var v = process.versions.node.split('.').map(Number);
  if (v[0] > ${major} || (v[0] === ${major} && v[1] >= ${minor})) return;
  process.stderr.write('${program}: needs Node ${major}.${minor} or newer, this is ' + process.version + '\\n');
  process.exit(1);
})();
(function () {
  if (process.env.npm_command !== 'exec' && !process.env.KUBE_DNS_ENDS_WITH_PARENT) return;
  var parent = process.ppid;
  var timer = setInterval(function () {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, ${PARENT_CHECK_MS});
  timer.unref();
})();${holdSignals}`;

// Only KubeConfig of client-node is used, but the package does not declare its modules free of side
// effects, so the whole generated API would be bundled: 0.9 MB of bundle, 12 MiB of memory.
const CLIENT_NODE = '@kubernetes/client-node';
const withoutUnusedApi = {
  name: 'without-unused-api',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^/ }, async ({ path, pluginData, ...origin }) => {
      const isClientNode = path === CLIENT_NODE || origin.resolveDir.includes(CLIENT_NODE);
      if (!isClientNode || pluginData === CLIENT_NODE) return undefined;
      const { kind, importer, resolveDir } = origin;
      const found = await resolve(path, { kind, importer, resolveDir, pluginData: CLIENT_NODE });
      return { ...found, sideEffects: false };
    });
  },
};

const notHere = (path) => `module.exports = new Proxy({}, {
  get: () => class { constructor() { throw new Error('${path} is not in this bundle'); } },
});`;
// Dependencies load these for what most programs never do: another 2.1 MB of bundle and 12 MiB of memory.
const REPLACED = {
  // client-node uses undici only in the parts that are left out.
  undici: notHere('undici'),
  // Express parses bodies only where a program configures it.
  'body-parser': notHere('body-parser'),
  // All media types; express looks up only those that are sent.
  'mime-db': `module.exports = {
    'application/json': { charset: 'UTF-8', extensions: ['json'] },
    'application/octet-stream': { extensions: ['bin'] },
    'text/html': { charset: 'UTF-8', extensions: ['html'] },
    'text/plain': { charset: 'UTF-8', extensions: ['txt'] },
  };`,
  // Of express: queries with brackets, signed cookies, entity tags (all of Node's crypto), files.
  ...Object.fromEntries(
    ['qs', 'cookie-signature', 'etag', 'send', 'serve-static', 'content-disposition'].map(
      (path) => [path, notHere(path)],
    ),
  ),
  // Of prom-client: a client of HTTPS, which loads TLS, several processes, Node's own metrics, quantiles.
  ...Object.fromEntries(
    ['pushgateway', 'cluster', 'defaultMetrics', 'summary'].map((name) => [
      `prom-client/lib/${name}`,
      notHere(`${name} of prom-client`),
    ]),
  ),
};
const withoutUnusedModules = {
  name: 'without-unused-modules',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^/ }, ({ path: asked, resolveDir }) => {
      const path = asked.replace(/^\./, basename(resolveDir));
      return Object.hasOwn(REPLACED, path) && !needed.includes(path)
        ? { path, namespace: 'replaced' }
        : undefined;
    });
    onLoad({ filter: /^/, namespace: 'replaced' }, ({ path }) => ({ contents: REPLACED[path] }));
  },
};

// client-node loads these for kubeconfig files, proxies and providers of tokens; a pod needs none of them, so
// they are loaded when they are called. `socks` itself belongs to undici.
const LATE = {
  'js-yaml': ['load'],
  'jsonpath-plus': ['JSONPath'],
  'openid-client': ['discovery', 'refreshTokenGrant'],
  'socks-proxy-agent': ['SocksProxyAgent'],
  socks: ['SocksClient'],
};
// The same of Node for our own packages: most pods make no hash and read no certificate, which is 0.5 MiB.
const LATE_OF_NODE = {
  'node:crypto': [
    'createHash',
    'createHmac',
    'randomBytes',
    'randomInt',
    'randomUUID',
    'timingSafeEqual',
    'X509Certificate',
  ],
  'node:zlib': ['createGunzip', 'createGzip', 'gzip'],
};
// node-cache's expressions, which few Corefiles have: 1 MiB of memory with the first of them.
const LATE_OF_NODE_CACHE = { './re2.js': ['compileRe2'] };
/** What a file in this folder gets late. */
function lateFor(folder) {
  if (folder.includes(CLIENT_NODE)) return LATE;
  if (folder.includes('node_modules')) return {};
  return folder.endsWith('/corefile') ? { ...LATE_OF_NODE, ...LATE_OF_NODE_CACHE } : LATE_OF_NODE;
}
const exportsOf = (path) => LATE[path] ?? LATE_OF_NODE[path] ?? LATE_OF_NODE_CACHE[path];
const lateFunction = (path) => (name) => `export function ${name}(...args) {
  const it = require('late:${path}').${name};
  return new.target ? new it(...args) : it(...args);
}`;
const withLateModules = {
  name: 'with-late-modules',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^/ }, ({ path, kind, namespace, resolveDir }) =>
      namespace === 'file' &&
      kind === 'import-statement' &&
      Object.hasOwn(lateFor(resolveDir), path)
        ? { path, namespace: 'late', pluginData: resolveDir, sideEffects: false }
        : undefined,
    );
    onResolve({ filter: /^late:/ }, ({ path, resolveDir }) => ({
      path: path.slice('late:'.length),
      namespace: 'late-exports',
      pluginData: resolveDir,
    }));
    onLoad({ filter: /^/, namespace: 'late' }, ({ path, pluginData }) => ({
      contents: exportsOf(path).map(lateFunction(path)).join('\n'),
      resolveDir: pluginData,
    }));
    onLoad({ filter: /^/, namespace: 'late-exports' }, ({ path, pluginData }) => ({
      contents: `export { ${exportsOf(path).join(', ')} } from '${path}';`,
      resolveDir: pluginData,
    }));
  },
};

/** The folders of the bundled packages. */
function packageFolders(inputs) {
  const folders = Object.entries(inputs)
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => /^.*node_modules\/(@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0])
    .filter((folder) => folder !== undefined);
  return [...new Set(folders)].sort();
}

/** The licences of the bundled packages, which must accompany every copy. */
function licenses(folders) {
  const texts = folders.map((folder) => {
    const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
    const title = `${about.name} ${about.version}: ${about.license ?? 'see below'}`;
    return [title, ...files.map((file) => readFileSync(join(folder, file), 'utf8').trim())];
  });
  return texts.map((parts) => `${parts.join('\n\n')}\n`).join(`\n${'-'.repeat(72)}\n\n`);
}

const { metafile } = await build({
  entryPoints: [entry],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node18', // only the syntax: an old Node must be able to parse the file to reach the banner
  supported: { 'dynamic-import': true },
  external: ['koffi'],
  define: {
    'process.env.KUBE_DNS_VERSION': JSON.stringify(root.version),
    'import.meta.filename': '__filename',
  },
  banner: { js: banner },
  plugins: [withoutUnusedModules, withLateModules, withoutUnusedApi],
  // Only comments hold characters outside ASCII, and one of them doubles the memory of the program's text.
  minifyWhitespace: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});
chmodSync(outfile, 0o755);
const [output] = Object.values(metafile.outputs);
const folders = packageFolders(output.inputs);
writeFileSync(outfile.replace(/\.cjs$/, '.licenses.txt'), licenses(folders));
const places = folders.map((folder) => relative(rootFolder, folder));
writeFileSync(
  outfile.replace(/\.cjs$/, '.packages.json'),
  `${JSON.stringify(places, undefined, 2)}\n`,
);
