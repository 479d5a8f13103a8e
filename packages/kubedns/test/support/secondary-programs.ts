import { type Closable, freePort, RunningProgram, TemporaryFolder } from '@kube-dns/testkit';

const START_LIMIT_MS = 60_000;

/** Which zones a secondary has, and from where. */
export interface SecondaryStart {
  readonly zones: readonly string[];
  readonly primaryPort: number;
  /** The key of the primary, as parts of a configuration. */
  readonly key: { readonly name: string; readonly algorithm: string; readonly secret: string };
}

interface Configuration {
  /** What is started, in a folder of its own. */
  readonly command: (file: string, port: number) => readonly string[];
  readonly lines: (start: SecondaryStart, port: number, folder: string) => readonly string[];
  /** The line that it logs when it serves. */
  readonly started: RegExp;
}

const CONFIGURATIONS = {
  named: {
    command: (file) => ['named', '-g', '-4', '-n', '1', '-c', file],
    started: /running/,
    lines: ({ zones, primaryPort, key }, port, folder) => [
      `options { directory "${folder}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; };`,
      'recursion no; notify no; pid-file none; session-keyfile none; dnssec-validation no;',
      'empty-zones-enable no; allow-transfer { any; }; };',
      'controls { };',
      `key "${key.name}" { algorithm ${key.algorithm}; secret "${key.secret}"; };`,
      ...zones.map(
        (zone) =>
          `zone "${zone}" { type secondary; primaries { 127.0.0.1 port ${primaryPort} key ${key.name}; }; ` +
          `file "${zone}.zone"; masterfile-format text; allow-notify { 127.0.0.1; }; };`,
      ),
    ],
  },
  nsd: {
    command: (file) => ['nsd', '-d', '-c', file],
    started: /nsd started/,
    lines: ({ zones, primaryPort, key }, port, folder) => [
      'server:',
      ` ip-address: 127.0.0.1@${port}`,
      ' username: ""',
      ' chroot: ""',
      ' database: ""',
      ' pidfile: ""',
      ' verbosity: 2',
      ` zonesdir: "${folder}"`,
      ` xfrdfile: "${folder}/xfrd.state"`,
      ` zonelistfile: "${folder}/zone.list"`,
      ` xfrdir: "${folder}"`,
      'remote-control:',
      ' control-enable: no',
      'key:',
      ` name: "${key.name}"`,
      ` algorithm: ${key.algorithm}`,
      ` secret: "${key.secret}"`,
      ...zones.flatMap((zone) => [
        'zone:',
        ` name: "${zone}"`,
        ` zonefile: "${zone}.zone"`,
        ` request-xfr: 127.0.0.1@${primaryPort} ${key.name}`,
        ` allow-notify: 127.0.0.1 ${key.name}`,
        ' provide-xfr: 127.0.0.1 NOKEY',
        // A transfer that it cannot apply is tried again then, else after the retry time of the SOA.
        ' max-retry-time: 2',
      ]),
    ],
  },
  knotd: {
    command: (file) => ['knotd', '-c', file],
    started: /server started/,
    lines: ({ zones, primaryPort, key }, port, folder) => [
      'server:',
      `    listen: 127.0.0.1@${port}`,
      `    rundir: "${folder}"`,
      'log:',
      '  - target: stderr',
      '    any: info',
      'database:',
      `    storage: "${folder}"`,
      'key:',
      `  - id: ${key.name}`,
      `    algorithm: ${key.algorithm}`,
      `    secret: ${key.secret}`,
      'remote:',
      '  - id: primary',
      `    address: 127.0.0.1@${primaryPort}`,
      `    key: ${key.name}`,
      'acl:',
      '  - id: notify',
      '    address: 127.0.0.1',
      `    key: ${key.name}`,
      '    action: notify',
      '  - id: transfer',
      '    address: 127.0.0.1',
      '    action: transfer',
      'template:',
      '  - id: default',
      `    storage: "${folder}"`,
      'zone:',
      ...zones.flatMap((zone) => [
        `  - domain: ${zone}`,
        '    master: primary',
        '    acl: [notify, transfer]',
      ]),
    ],
  },
} as const satisfies Record<string, Configuration>;

export type SecondaryName = keyof typeof CONFIGURATIONS;
export const SECONDARY_NAMES = Object.keys(CONFIGURATIONS) as readonly SecondaryName[];

/** A name server of Debian on a free port of 127.0.0.1, which has zones of a primary alone. */
export class SecondaryProgram implements Closable {
  readonly name: SecondaryName;
  readonly port: number;
  readonly program: RunningProgram;
  readonly #folder: TemporaryFolder;

  private constructor(
    name: SecondaryName,
    port: number,
    program: RunningProgram,
    folder: TemporaryFolder,
  ) {
    this.name = name;
    this.port = port;
    this.program = program;
    this.#folder = folder;
  }

  /** Starts it on a port, and waits until it serves. */
  static async start(
    name: SecondaryName,
    port: number,
    start: SecondaryStart,
  ): Promise<SecondaryProgram> {
    const { command, lines, started }: Configuration = CONFIGURATIONS[name];
    const folder = new TemporaryFolder();
    const text = lines(start, port, folder.path).map((line) => `${line}\n`);
    const [path, ...args] = command(folder.file(`${name}.conf`, text.join('')), port);
    const program = new RunningProgram(name, path!, args, { isForeign: true, cwd: folder.path });
    await program.waitForLine(started, { limitMs: START_LIMIT_MS });
    return new SecondaryProgram(name, port, program, folder);
  }

  async close(): Promise<void> {
    await this.program.close();
    await this.#folder.close();
  }
}

/** A port for each, known before they start: a primary notifies them. */
export async function secondaryPorts(): Promise<ReadonlyMap<SecondaryName, number>> {
  const ports = new Map<SecondaryName, number>();
  for (const name of SECONDARY_NAMES) ports.set(name, await freePort());
  return ports;
}
