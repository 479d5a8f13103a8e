// Each package as one file for the tests of the packages above it, from its sources, and several test files as one: jest loads
// all that a test file imports anew for it, which lasts longer than the tests of most files. One file instead of a hundred takes
// a third of that time, and eight test files in one take it once.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

/** The imports of a file, with the comments between them. */
const IMPORTS = /^(?:(?:\s|\/\/.*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*import\b[^;]*;)*/;

/** Where a file stands is known from its own path, not from that of the file that it was joined into: names for that, */
const OWN_NAMES = {
  'import.meta.url': 'urlOfThisFile',
  'import.meta.dirname': 'folderOfThisFile',
  'import.meta.filename': 'pathOfThisFile',
};

/** and this file with them. */
function withOwnNames(text, path) {
  const values = [pathToFileURL(path).href, dirname(path), path];
  const names = Object.values(OWN_NAMES).map(
    (name, at) => `${name} = ${JSON.stringify(values[at])}`,
  );
  return `const ${names.join(', ')}; ${text}`;
}

/** A test file whose tests and hooks are in a `describe` with this title; its lines have the same numbers. */
function describedAs(title, text) {
  const [imports] = IMPORTS.exec(text);
  const body = text.slice(imports.length);
  return `import { describe as describeFile } from '@jest/globals'; ${imports} describeFile('${title}', () => {${body}});\n`;
}

/** Changes what is joined; `titles` has those of the test files, by path. */
function changes(titles) {
  return {
    name: 'changes',
    setup({ onLoad }) {
      onLoad({ filter: /\.m?[jt]s$/ }, ({ path }) => {
        const title = titles.get(path);
        const text = readFileSync(path, 'utf8');
        if (title === undefined && !text.includes('import.meta')) return undefined;
        const contents = withOwnNames(title === undefined ? text : describedAs(title, text), path);
        return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' };
      });
    },
  };
}

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

/** Joins these files with what they import from their own package. */
function join(options, titles = new Map()) {
  return build({
    ...options,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node22',
    // `sideEffects: false` of a package is not said of its tests.
    ignoreAnnotations: titles.size > 0,
    define: OWN_NAMES,
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'error',
    plugins: [changes(titles)],
  });
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
      await join({
        entryPoints,
        outbase: source,
        outdir: `${into}/${name}`,
        // What two of its names lead to is there once.
        splitting: true,
      });
    }),
  );
}

/** So many test files are one at most: a worker has it alone, while the others may have ended. */
const MAX_TOGETHER = 8;
/** What counts steps finds the sources by their paths, and counts for all that the worker runs. */
const ALONE = /from '.*\/steps\.js'/;

/** Whether this test file may be joined with others. */
export function isJoinable(path) {
  return !ALONE.test(readFileSync(path, 'utf8'));
}

/**
 * Joins test files, paths below `root`, into few files below `into`: those of one package and folder, each in a `describe` with
 * its path. Returns the paths of the joined ones, those of processes first, for they last longest.
 */
export async function joinTests(root, into, files) {
  const outdir = `${into}/tests`;
  mkdirSync(outdir, { recursive: true });
  const groups = Map.groupBy(files, (file) => file.split('/').slice(1, 3).join('-'));
  const entryPoints = [...groups].flatMap(([name, ofFolder]) => {
    const count = Math.ceil(ofFolder.length / MAX_TOGETHER);
    return Array.from({ length: count }, (_, index) => {
      const lines = ofFolder
        .filter((_, at) => at % count === index)
        .map((file) => `import '${root}${file}';\n`);
      const path = `${outdir}/${name}-${index + 1}.test.js`;
      writeFileSync(path, lines.join(''));
      return path;
    });
  });
  await join(
    { entryPoints, outbase: outdir, outdir },
    new Map(files.map((file) => [root + file, file])),
  );
  const joined = entryPoints.map((path) => path.replace(/\.js$/, '.mjs'));
  const isOfProcesses = (path) => path.includes('-test-');
  return [...joined.filter(isOfProcesses), ...joined.filter((path) => !isOfProcesses(path))];
}
