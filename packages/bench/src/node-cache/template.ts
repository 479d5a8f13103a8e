/** What a Corefile of the bench differs in from the standard one. */
export interface TemplatePorts {
  readonly dns: number;
  readonly metrics: number;
  readonly health: number;
  readonly upstream: number;
}

/** The zones of the standard Corefile, each with a cache of its own. */
export const ZONES = ['cluster.local', 'in-addr.arpa', 'ip6.arpa', '.'] as const;

/** The longest TTL of answers of the world, in seconds. */
export const WORLD_TTL_SECONDS = 30;

/** The standard Corefile with these ports, all of it forwarded to one server. */
export function templateOf(ports: TemplatePorts, worldTtlSeconds = WORLD_TTL_SECONDS): string {
  return ZONES.map((zone) => blockOf(zone, ports, worldTtlSeconds)).join('');
}

function blockOf(zone: string, ports: TemplatePorts, worldTtlSeconds: number): string {
  const isCluster = zone === 'cluster.local';
  const cache = isCluster
    ? ['cache {', '    success 9984 30', '    denial 9984 5', '}']
    : [`cache ${zone === '.' ? worldTtlSeconds : 30}`];
  const forward = `forward . 127.0.0.1:${ports.upstream}`;
  const lines = [
    'errors',
    ...cache,
    'reload',
    'loop',
    'bind __PILLAR__LOCAL__DNS__ __PILLAR__DNS__SERVER__',
    ...(zone === '.' ? [forward] : [`${forward} {`, '    force_tcp', '}']),
    `prometheus 127.0.0.1:${ports.metrics}`,
    ...(isCluster ? [`health 127.0.0.1:${ports.health}`] : []),
  ];
  return [`${zone}:${ports.dns} {`, ...lines.map((line) => `    ${line}`), '}', ''].join('\n');
}
