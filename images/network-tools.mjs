// Lays out what node-cache needs to set up the network of a node: `node images/network-tools.mjs
// [--architectures=amd64,arm64] FOLDER`, in the build stage of its Dockerfile, as root on Debian. FOLDER/ARCHITECTURE
// is copied onto the base: nft, iptables and ip, a shell, and the libraries of these, from Debian.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** Where an image has them already that cannot reach Debian: images/local-base.mjs puts them there. */
export const PREPARED = '/opt/network-tools';
/** Besides these they need what every base with Node has. */
const PACKAGES = {
  bash: ['bin/bash'],
  coreutils: ['usr/bin/mkfifo', 'bin/rm'],
  iproute2: ['bin/ip'],
  nftables: ['usr/sbin/nft'],
  iptables: ['usr/sbin/xtables-nft-multi', 'usr/sbin/xtables-legacy-multi'],
};
const LIBRARIES = [
  ...['libbpf1', 'libelf1', 'libcap2', 'zlib1g', 'libbsd0', 'libmd0'],
  ...['libnftables1', 'libnftnl11', 'libmnl0', 'libjansson4', 'libedit2', 'libgmp10', 'libtinfo6'],
  ...['libxtables12', 'libip4tc2', 'libip6tc2', 'libselinux1', 'libpcre2-8-0'],
];
/** Names under which two programs do several things. */
const LINKS = {
  sh: 'bash',
  ...Object.fromEntries(
    ['iptables', 'ip6tables'].flatMap((name) => [
      ...['', '-save', '-restore'].map((suffix) => [`${name}${suffix}`, 'xtables-nft-multi']),
      ...['', '-save', '-restore'].map((suffix) => [`${name}-nft${suffix}`, 'xtables-nft-multi']),
      ...['', '-save', '-restore'].map((suffix) => [
        `${name}-legacy${suffix}`,
        'xtables-legacy-multi',
      ]),
    ]),
  ),
};

function run(command, args, cwd) {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Downloads packages of Debian with apt and unpacks them into a folder; names may have `:ARCHITECTURE`. */
export function unpackDebian(packages, folder) {
  const debs = mkdtempSync(join(tmpdir(), 'kube-dns-debs-'));
  try {
    run('apt-get', ['download', '-qq', ...packages], debs);
    for (const file of readdirSync(debs)) run('dpkg-deb', ['-x', join(debs, file), folder], debs);
    return readdirSync(debs).map((file) => run('dpkg-deb', ['-f', join(debs, file)], debs));
  } finally {
    rmSync(debs, { recursive: true, force: true });
  }
}

/** Lays out the tools for one architecture of Debian, all below usr/, whatever the base links there. */
export function layOutNetworkTools(architecture, target) {
  const unpacked = mkdtempSync(join(tmpdir(), 'kube-dns-tools-'));
  try {
    const names = [...Object.keys(PACKAGES), ...LIBRARIES];
    const controls = unpackDebian(
      names.map((name) => `${name}:${architecture}`),
      unpacked,
    );
    for (const place of ['bin', 'lib', 'share/doc']) {
      mkdirSync(join(target, 'usr', place), { recursive: true });
    }
    const programs = join(target, 'usr/bin');
    for (const path of Object.values(PACKAGES).flat()) {
      cpSync(join(unpacked, path), join(programs, basename(path)));
    }
    for (const [name, program] of Object.entries(LINKS)) symlinkSync(program, join(programs, name));
    for (const folder of ['lib', 'usr/lib']) {
      for (const place of readdirSync(join(unpacked, folder))) {
        if (!place.endsWith('-linux-gnu')) continue;
        const verbatimSymlinks = true;
        const from = join(unpacked, folder, place);
        cpSync(from, join(target, 'usr/lib', place), { recursive: true, verbatimSymlinks });
      }
    }
    describe(controls, unpacked, target);
  } finally {
    rmSync(unpacked, { recursive: true, force: true });
  }
}

/** Puts into `target` the copyright of each package, and its version where scanners look for it in an image without dpkg. */
export function describe(controls, unpacked, target) {
  const status = join(target, 'var/lib/dpkg/status.d');
  mkdirSync(status, { recursive: true });
  for (const control of controls) {
    const name = /^Package: (.+)$/m.exec(control)[1];
    const copyright = join('usr/share/doc', name, 'copyright');
    cpSync(join(unpacked, copyright), join(target, copyright));
    writeFileSync(join(status, name), control);
  }
}

function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { architectures: { type: 'string' } },
  });
  const [folder] = positionals;
  if (folder === undefined) throw new Error('usage: network-tools.mjs [--architectures=…] FOLDER');
  if (existsSync(PREPARED)) {
    cpSync(PREPARED, folder, { recursive: true, verbatimSymlinks: true });
    return;
  }
  const native = run('dpkg', ['--print-architecture']).trim();
  const wanted = new Set([native, ...(values.architectures?.split(',') ?? [])]);
  for (const architecture of wanted) run('dpkg', ['--add-architecture', architecture]);
  run('apt-get', ['update', '-qq']);
  for (const architecture of wanted) layOutNetworkTools(architecture, join(folder, architecture));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
