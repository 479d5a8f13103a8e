import type { Field } from './field.js';
import type { PortSpec } from './port-spec.js';

/** What a probe does once; host and port are resolved. */
export type ProbeAction =
  | {
      readonly kind: 'http';
      readonly scheme: 'http' | 'https';
      readonly host: string;
      readonly port: number;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'exec'; readonly command: readonly string[] };

/** One probe of a container with the kubelet's defaults filled in. */
export interface ProbeSpec {
  readonly action: ProbeAction;
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

const POD_ADDRESS = '127.0.0.1';

/** Reads a probe; undefined for an absent field. Named ports are looked up in `ports`. */
export function parseProbe(
  field: Field,
  ports: readonly PortSpec[],
  kind: 'startup' | 'readiness' | 'liveness',
): ProbeSpec | undefined {
  if (!field.isPresent) return undefined;
  const seconds = (key: string, fallback: number, min: number) =>
    field.get(key).integer({ min, fallback }) * 1000;
  const successThreshold = field.get('successThreshold').integer({
    min: 1,
    // The API server refuses more than one success for a probe that only decides about restarts.
    ...(kind === 'readiness' ? {} : { max: 1 }),
    fallback: 1,
  });
  return {
    action: parseAction(field, ports),
    initialDelayMs: seconds('initialDelaySeconds', 0, 0),
    periodMs: seconds('periodSeconds', 10, 1),
    timeoutMs: seconds('timeoutSeconds', 1, 1),
    successThreshold,
    failureThreshold: field.get('failureThreshold').integer({ min: 1, fallback: 3 }),
  };
}

function parseAction(field: Field, ports: readonly PortSpec[]): ProbeAction {
  const http = field.get('httpGet');
  if (http.isPresent) {
    const scheme = http.get('scheme').string('HTTP');
    if (scheme !== 'HTTP' && scheme !== 'HTTPS') http.get('scheme').fail('must be HTTP or HTTPS');
    const path = http.get('path').string('/');
    const headers = http
      .get('httpHeaders')
      .items()
      .map((item) => [item.get('name').string(), item.get('value').string('')] as const);
    return {
      kind: 'http',
      scheme: scheme === 'HTTPS' ? 'https' : 'http',
      host: http.get('host').string(POD_ADDRESS),
      port: probePort(http.get('port'), ports),
      path: path.startsWith('/') ? path : `/${path}`,
      headers: Object.fromEntries(headers),
    };
  }
  const tcp = field.get('tcpSocket');
  if (tcp.isPresent) {
    const host = tcp.get('host').string(POD_ADDRESS);
    return { kind: 'tcp', host, port: probePort(tcp.get('port'), ports) };
  }
  const command = field.get('exec').get('command');
  if (command.strings().length > 0) return { kind: 'exec', command: command.strings() };
  return field.fail('must have one of httpGet, tcpSocket and exec');
}

function probePort(field: Field, ports: readonly PortSpec[]): number {
  if (typeof field.value !== 'string') return field.integer({ min: 1, max: 65_535 });
  const found = ports.find((port) => port.name === field.value);
  return found?.containerPort ?? field.fail(`the container has no port named ${field.value}`);
}
