// The container engines that can build the images, behind one interface. Needs nothing but Node.
import { spawnSync } from 'node:child_process';

/** In the order in which they are looked for; `check` is a command that fails when it cannot build. */
const ENGINES = {
  docker: { check: ['version', '--format', '{{.Server.Version}}'], build: ['build'] },
  podman: { check: ['version', '--format', '{{.Version}}'], build: ['build'] },
  buildah: { check: ['version'], build: ['build', '--layers'] },
};

/** kind itself asks docker only; a file takes the images of the others to it. */
const KIND_COMMANDS = {
  docker: (names) => `kind load docker-image ${names}`,
  podman: (names) => `podman save -m -o images.tar ${names} && kind load image-archive images.tar`,
  buildah: (names) =>
    `for name in ${names}; do buildah push $name docker-archive:image.tar:$name && ` +
    'kind load image-archive image.tar; done',
};

export const ENGINE_NAMES = Object.keys(ENGINES);

/** What ends these programs: one line for the user. */
export class ImageError extends Error {}

/** The first engine that works, or the wanted one; throws an ImageError that says what to install. */
export function findEngine(wanted) {
  const found = [];
  for (const name of wanted === undefined ? ENGINE_NAMES : [wanted]) {
    const { error, status, stderr } = spawnSync(name, ENGINES[name].check, { encoding: 'utf8' });
    if (error === undefined && status === 0) return name;
    const reason = stderr?.trim().split('\n').at(-1) || `status ${status}`;
    found.push(error?.code === 'ENOENT' ? `${name} is not installed` : `${name} says: ${reason}`);
  }
  throw new ImageError(
    `no container engine: ${found.join('; ')}\n` +
      'Install one of them and try again: docker (docs.docker.com/engine/install), podman ' +
      '(apt-get install podman, dnf install podman) or buildah.',
  );
}

/** This machine, in the words of images; what an engine on it runs is always Linux. */
const BUILD_PLATFORM = `linux/${{ x64: 'amd64' }[process.arch] ?? process.arch}`;

/** How an engine is told what to build: one image, or a list of one for each of several platforms. */
function target(engine, tag, platforms) {
  if (platforms === undefined) return ['-t', tag];
  if (engine === 'docker') return ['--platform', platforms, '-t', tag];
  // An older list of this name would be added to.
  spawnSync(engine, ['manifest', 'rm', tag]);
  spawnSync(engine, ['rmi', tag]);
  const own = ['--build-arg', `BUILDPLATFORM=${BUILD_PLATFORM}`];
  return ['--platform', platforms, '--manifest', tag, ...own];
}

/** Builds one image with the engine's output shown; throws an ImageError when that fails. */
export function buildImage(engine, { file, tag, platforms, buildArgs = {}, context, extra = [] }) {
  const args = [...ENGINES[engine].build, '-f', file, ...target(engine, tag, platforms)];
  for (const [name, value] of Object.entries(buildArgs))
    args.push('--build-arg', `${name}=${value}`);
  const { error, status } = spawnSync(engine, [...args, ...extra, '.'], {
    cwd: context,
    stdio: 'inherit',
    // What docker has by default since version 23.
    env: { ...process.env, DOCKER_BUILDKIT: '1' },
  });
  if (error !== undefined) throw new ImageError(`cannot run ${engine}: ${error.message}`);
  if (status !== 0) throw new ImageError(`${engine} could not build ${tag}: status ${status}`);
}

/** What a program of ours, and Node itself, say of a Node that is too old. */
const TOO_OLD = /needs Node|bad option/;

/**
 * Throws an ImageError when the Node of an image is too old for its program. Where the image cannot be run here (buildah, another
 * processor, no right to), nothing is known and nothing is thrown.
 */
export function checkNode(engine, tag) {
  if (engine === 'buildah') return;
  const { status, stderr } = spawnSync(
    engine,
    ['run', '--rm', '--network=none', tag, '--version'],
    {
      encoding: 'utf8',
    },
  );
  if (status === 0 || !TOO_OLD.test(stderr ?? '')) return;
  const reason = stderr.trim().split('\n').at(-1);
  throw new ImageError(`${tag} does not start: ${reason}; give a --base with a newer Node`);
}

/** Why an engine has no image of this name and cannot pull it either; undefined where it has or can. */
export function reasonNotToHave(engine, image) {
  const run = (...words) => spawnSync(engine, [...words, image], { encoding: 'utf8' });
  if (run('inspect', '--type=image').status === 0) return undefined;
  const { status, stderr } = run('pull', '--quiet');
  if (status === 0) return undefined;
  return stderr?.trim().split('\n').at(-1) || `status ${status}`;
}

/** The command that brings images of an engine to the nodes of kind. */
export function kindCommand(engine, tags) {
  return KIND_COMMANDS[engine](tags.join(' '));
}

/** The command that pushes lists of images for several platforms. */
export function pushCommand(engine, tags) {
  if (engine === 'docker') return 'npm run images -- … -- --push';
  return tags.map((tag) => `${engine} manifest push --all ${tag} docker://${tag}`).join(' && ');
}

/** The size of an image as the engine tells it, uncompressed; '' where it does not. */
export function imageSize(engine, tag) {
  const ask =
    engine === 'buildah'
      ? ['images', '--format', '{{.Size}}', tag]
      : ['image', 'inspect', '--format', '{{.Size}}', tag];
  const size = spawnSync(engine, ask, { encoding: 'utf8' }).stdout?.trim() ?? '';
  return /^\d+$/.test(size) ? `${(Number(size) / 1e6).toFixed(1)} MB` : size;
}
