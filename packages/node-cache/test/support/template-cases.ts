/** A template, what it is given, and the file that the original writes. */
export interface TemplateCase {
  readonly title: string;
  readonly template: string;
  /** The keys of the ConfigMap kube-dns. */
  readonly configMap?: Readonly<Record<string, string>>;
  readonly localAddresses?: string;
  readonly port?: number;
  /** The address of the service `kube-dns-upstream`; none where it is empty. */
  readonly clusterDns?: string;
  readonly written: string;
}

const UPSTREAM = 'forward . __PILLAR__UPSTREAM__SERVERS__';

const OWN = { upstreamNameservers: '["192.0.2.1", "192.0.2.2:5353"]' };

/** As observed on kubernetes/dns 1.26.7. */
export const TEMPLATE_CASES: readonly TemplateCase[] = [
  {
    title: 'replaces the five variables, also twice in a line, and leaves the installer’s',
    template:
      '__PILLAR__DNS__DOMAIN__:53 {\n  bind __PILLAR__LOCAL__DNS__ __PILLAR__DNS__SERVER__\n' +
      `  forward . __PILLAR__CLUSTER__DNS__ __PILLAR__CLUSTER__DNS__\n  ${UPSTREAM}\n}\n`,
    written:
      '__PILLAR__DNS__DOMAIN__:53 {\n  bind 169.254.20.10 10.96.0.10 \n' +
      '  forward . 10.96.0.20 10.96.0.20\n  forward . /etc/resolv.conf\n}\n',
  },
  {
    title: 'writes <nil> for a service without an address',
    template: '.:53 {\n    forward . __PILLAR__CLUSTER__DNS__\n}\n',
    clusterDns: '',
    written: '.:53 {\n    forward . <nil>\n}\n',
  },
  {
    title: 'shortens the address of the service',
    template: '.:53 {\n    forward . __PILLAR__CLUSTER__DNS__\n}\n',
    clusterDns: 'FD00:0:0:0::0A',
    written: '.:53 {\n    forward . fd00::a\n}\n',
  },
  {
    title: 'takes force_tcp from the block that reads as the addon’s does',
    template: `a {\n    ${UPSTREAM} {\n            force_tcp\n    }\n}\nb {\n    ${UPSTREAM} {\n            force_tcp\n    }\n}\n`,
    configMap: OWN,
    written:
      'a {\n    forward . 192.0.2.1 192.0.2.2:5353\n}\n' +
      'b {\n    forward . 192.0.2.1 192.0.2.2:5353\n}\n',
  },
  {
    title: 'leaves force_tcp where the indentation is another',
    template: `a {\n  ${UPSTREAM} {\n    force_tcp\n  }\n}\n`,
    configMap: OWN,
    written: 'a {\n  forward . 192.0.2.1 192.0.2.2:5353 {\n    force_tcp\n  }\n}\n',
  },
  {
    title: 'leaves force_tcp with the node’s own servers',
    template: `a {\n    ${UPSTREAM} {\n            force_tcp\n    }\n}\n`,
    configMap: { upstreamNameservers: '[]' },
    written: 'a {\n    forward . /etc/resolv.conf {\n            force_tcp\n    }\n}\n',
  },
  {
    title: 'adds a block for a stub domain, with the port of -dns.port',
    template: '.:53 {\n}\n',
    configMap: { stubDomains: '{"acme.local": ["192.0.2.9", "192.0.2.10:54"]}' },
    port: 1053,
    written:
      '.:53 {\n}\n\nacme.local:1053 {\n    errors\n    cache 30\n    bind 169.254.20.10 10.96.0.10\n' +
      '    forward . 192.0.2.9 192.0.2.10:54\n}\n',
  },
  {
    title: 'adds it after a template without a line feed at its end',
    template: '.:53 {\n}',
    configMap: { stubDomains: '{"acme.local": ["2001:db8::1"]}' },
    localAddresses: 'fd00::a',
    written:
      '.:53 {\n}\nacme.local:53 {\n    errors\n    cache 30\n    bind fd00::a\n    forward . 2001:db8::1\n}\n',
  },
  {
    title: 'does not take a $ in a template for anything',
    template: '.:53 {\n    log . "$& {$HOME} __PILLAR__LOCAL__DNS__"\n}\n',
    written: '.:53 {\n    log . "$& {$HOME} 169.254.20.10 10.96.0.10"\n}\n',
  },
  {
    title: 'ignores a ConfigMap with a name for a server',
    template: `.:53 {\n    ${UPSTREAM}\n}\n`,
    configMap: { stubDomains: '{"acme.local": ["ns.example.org"]}' },
    written: '.:53 {\n    forward . /etc/resolv.conf\n}\n',
  },
  {
    title: 'ignores a ConfigMap that is not JSON',
    template: `.:53 {\n    ${UPSTREAM}\n}\n`,
    configMap: { upstreamNameservers: '[' },
    written: '.:53 {\n    forward . /etc/resolv.conf\n}\n',
  },
  {
    title: 'ignores a ConfigMap with more than three servers',
    template: `.:53 {\n    ${UPSTREAM}\n}\n`,
    configMap: { upstreamNameservers: '["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"]' },
    written: '.:53 {\n    forward . /etc/resolv.conf\n}\n',
  },
];
