import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Dockerfile, IMAGES } from '@kube-dns/testkit';
import { ROOT } from '../support/root.js';

const { license } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
  readonly license: string;
};

describe.each(IMAGES)('images/%s/Dockerfile', (name) => {
  const file = new Dockerfile(name);

  it('has an argument for the base image', () => {
    expect(file.build).toContainEqual({
      keyword: 'ARG',
      value: 'BASE_IMAGE=node:24-bookworm-slim',
    });
    expect(file.run[0]).toEqual({ keyword: 'FROM', value: '${BASE_IMAGE}' });
  });

  it('builds with the lines of the others, so that an engine runs them once', () => {
    expect(file.build).toEqual(new Dockerfile('kubedns').build);
    expect(file.build.map(({ keyword }) => keyword)).toContain('RUN');
  });

  it('builds on the processor of the build, and holds what the processor of the image needs', () => {
    expect(file.build[0]).toEqual({ keyword: 'ARG', value: 'BUILDPLATFORM' });
    expect(file.build).toContainEqual({
      keyword: 'FROM',
      value: '--platform=${BUILDPLATFORM} ${BUILD_IMAGE} AS build',
    });
    // Nothing in the build stage depends on it: it is run once for all.
    expect(JSON.stringify(file.build)).not.toContain('TARGET');
    expect(file.all('ARG')).toContain('TARGETARCH');
  });

  it('needs no shell in the base', () => {
    expect(file.all('RUN')).toEqual([]);
    // Its guard is a script: the shell comes with the tools.
    const guard = name === 'node-cache' ? ['bash', '/app/guard.sh'] : [];
    expect(file.entrypoint.slice(0, -file.command.length)).toEqual(guard);
    expect(file.all('CMD')).toEqual(['[]']);
  });

  it('starts the program of its folder, with the flags for a small heap', () => {
    const youngMib = name === 'kubedns' ? 4 : 1;
    const flags = ['--disable-sigusr1', '--expose-gc', `--max-semi-space-size=${youngMib}`];
    flags.push('--no-maglev');
    if (name === 'sidecar') flags.push('--no-opt', '--no-sparkplug', '--gc-global');
    if (name === 'kubedns') flags.push('--initial-old-space-size=32');
    if (name === 'dnsmasq') flags.push('--always-sparkplug');
    if (name !== 'sidecar') flags.push('--invocation-count-for-turbofan=10000');
    expect(file.command).toEqual(['node', ...flags, `/app/${name}.cjs`]);
    const tools = name === 'node-cache' ? ['--from=network-tools /out/${TARGETARCH} /'] : [];
    expect(file.all('COPY')).toEqual([...tools, `--from=build /out/\${TARGETARCH}/${name} /app`]);
  });

  it('runs as a user that is a number, root only where the network of the node is set up', () => {
    expect(file.all('USER')).toEqual([name === 'node-cache' ? '0:0' : '1001:1001']);
  });

  it('says what it is, in the labels of the OCI', () => {
    const label = file.all('LABEL').join(' ');
    expect(label).toContain(`org.opencontainers.image.title="${name}"`);
    expect(label).toContain(`org.opencontainers.image.licenses="${license}"`);
    for (const key of ['description', 'version', 'revision', 'base.name']) {
      expect(label).toMatch(new RegExp(`org\\.opencontainers\\.image\\.${key}="[^"]+"`));
    }
  });

  it('gets the version of the project from npm run images', () => {
    expect(file.all('ARG')).toContain('VERSION');
  });

  it('needs nothing that only one engine knows', () => {
    for (const { keyword, value } of file.instructions) {
      expect(keyword).toMatch(/^(ARG|FROM|WORKDIR|COPY|RUN|LABEL|ENV|USER|EXPOSE|ENTRYPOINT|CMD)$/);
      expect(value).not.toMatch(/--mount|--parents|--chmod|<</);
    }
  });
});
