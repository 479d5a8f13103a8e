import { type OptionSpelling, spellingOf } from './option-kinds.js';

/** An option of dnsmasq that is recognized and refused. */
export interface UnsupportedOption extends OptionSpelling {
  /** Why it is not supported. */
  readonly reason: UnsupportedReason;
}

export type UnsupportedReason =
  | 'DHCP, TFTP and router advertisement'
  | 'D-Bus and ubus'
  | 'packet filters'
  | 'authoritative zones'
  | 'DNSSEC validation'
  | 'not supported here';

function options(reason: UnsupportedReason, words: string): UnsupportedOption[] {
  return words
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => {
      const [name, short] = word.split('/');
      return { ...spellingOf(short === undefined ? `--${name}` : `-${short}, --${name}`), reason };
    });
}

/** Every other option of 2.90 (src/option.c, opts); `name/letter`, and `=` as in the other table. */
export const UNSUPPORTED_OPTIONS: readonly UnsupportedOption[] = [
  ...options(
    'DHCP, TFTP and router advertisement',
    `bootp-dynamic[=]/3 bridge-interface= dhcp-alternate-port[=] dhcp-authoritative/K dhcp-boot=/M
     dhcp-broadcast[=] dhcp-circuitid= dhcp-client-update dhcp-duid= dhcp-fqdn dhcp-generate-names[=]
     dhcp-host=/G dhcp-hostsdir= dhcp-hostsfile= dhcp-ignore=/J dhcp-ignore-clid dhcp-ignore-names[=]
     dhcp-lease-max=/X dhcp-leasefile=/l dhcp-luascript= dhcp-mac=/4 dhcp-match= dhcp-name-match=
     dhcp-no-override dhcp-option=/O dhcp-option-force= dhcp-option-pxe= dhcp-optsdir= dhcp-optsfile=
     dhcp-proxy[=] dhcp-pxe-vendor= dhcp-range=/F dhcp-rapid-commit dhcp-relay= dhcp-remoteid=
     dhcp-reply-delay= dhcp-script=/6 dhcp-scriptuser= dhcp-sequential-ip dhcp-subscrid= dhcp-ttl=
     dhcp-userclass=/j dhcp-vendorclass=/U enable-ra enable-tftp[=] leasefile-ro/9 log-debug log-dhcp
     no-dhcp-interface=/2 no-dhcpv4-interface= no-dhcpv6-interface= no-ping/5 pxe-prompt= pxe-service=
     quiet-dhcp quiet-dhcp6 quiet-ra quiet-tftp ra-param= read-ethers/Z script-arp
     script-on-renewal shared-network= tag-if= tftp-lowercase tftp-max= tftp-mtu= tftp-no-blocksize
     tftp-no-fail tftp-port-range= tftp-root= tftp-secure tftp-single-port tftp-unique-root[=]`,
  ),
  ...options('D-Bus and ubus', 'enable-dbus[=]/1 enable-ubus[=]'),
  ...options(
    'packet filters',
    'connmark-allowlist= connmark-allowlist-enable[=] conntrack ipset= nftset=',
  ),
  ...options(
    'authoritative zones',
    'auth-peer= auth-sec-servers= auth-server= auth-soa= auth-ttl= auth-zone=',
  ),
  ...options(
    'DNSSEC validation',
    `dnssec dnssec-check-unsigned[=] dnssec-debug dnssec-limits= dnssec-no-timecheck dnssec-timestamp=
     trust-anchor=`,
  ),
  ...options('not supported here', 'dumpfile= dumpmask='),
];
