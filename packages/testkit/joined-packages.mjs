// Each package as one file for the tests of the packages above it, from its sources: a test file loads all that it imports anew,
// and one file instead of a hundred takes a third of its time.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

/** Where a file stands is known from its own path, not from that of the file that it was joined into. */
const ownUrls = {
  name: 'own-urls',
  setup({ onLoad }) {
    onLoad({ filter: /\.[jt]s$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!text.includes('import.meta')) return undefined;
      const own = pathToFileURL(path);
      const contents = text
        .replaceAll('import.meta.url', JSON.stringify(own.href))
        .replaceAll('import.meta.dirname', JSON.stringify(new URL('.', own).pathname.slice(0, -1)))
        .replaceAll('import.meta.filename', JSON.stringify(own.pathname));
      return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' };
    });
  },
};

/** The files that a package's other names lead to: `@kube-dns/NAME/FOLDER`, and `internal`. */
function entriesOf(source, ext) {
  return ['index', 'internal']
    .map((name) => `${name}${ext}`)
    .concat(
      readdirSync(source, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => `${name}/index${ext}`),
    )
    .filter((file) => existsSync(`${source}/${file}`))
    .map((file) => `${source}/${file}`);
}

/** Joins the packages of a checkout into files below `into`. */
export async function joinPackages(root, into) {
  await Promise.all(
    readdirSync(`${root}packages`).map(async (name) => {
      const isBuilt = name === 'testkit';
      const source = `${root}packages/${name}/${isBuilt ? 'dist' : 'src'}`;
      if (!existsSync(source)) return;
      const entryPoints = entriesOf(source, isBuilt ? '.js' : '.ts');
      if (entryPoints.length === 0) return;
      await build({
        entryPoints,
        outbase: source,
        outdir: `${into}/${name}`,
        outExtension: { '.js': '.mjs' },
        bundle: true,
        splitting: true,
        packages: 'external',
        format: 'esm',
        platform: 'node',
        target: 'node22',
        sourcemap: 'inline',
        logLevel: 'error',
        plugins: [ownUrls],
      });
    }),
  );
}
