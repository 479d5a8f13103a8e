/** What status pages show of a fault: in words, and as it is found in `/status`. */
export interface PageSign {
  readonly text: string;
  readonly found: RegExp;
}

const sign = (text: string, found: RegExp): PageSign => ({ text, found });

/** The signs that several rows have. */
export const PAGE = {
  unlisted: sign(
    'Not ready: which lists are not complete, and why',
    /the first list of services is not complete: connect ECONNREFUSED/,
  ),
  watches: sign(
    'Watches that are not open, with the last failure; after 5 s, that they are stale',
    /"resource":"services","state":"(?:connecting|stale)"[^}]*"lastFailure":"[^"]/,
  ),
  denied: sign(
    'Watches that are denied, and what they need',
    /"resource":"namespaces","state":"denied"[^}]*it needs list and watch/,
  ),
  broken: sign('How often the watches were closed', /"restarts":"[^"]*closed \d/),
  idle: sign('How often the watches were idle', /"restarts":"[^"]*idle \d/),
  refused: sign('That it is refused, which, and why', /the configuration of [^"]* is refused: /),
  serversAway: sign('Which servers do not reply, why and since when', /no server for names of /),
  serverAway: sign('The server that is down, why and since when', /"state":"down","isPreferred/),
  timeouts: sign('Time-outs of servers', /"failures":"[^"]*timeout \d/),
  refusals: sign('Refusals of servers', /"failures":"[^"]*refused \d/),
  servfails: sign('SERVFAIL of servers', /"failures":"[^"]*servfail \d/),
  malformed: sign('Malformed replies of servers', /"failures":"[^"]*malformed \d/),
  probeOfKubedns: sign('The probe of kubedns that fails', /probe kubedns(?: fails)?: /),
  probeOfDnsmasq: sign('The probe of dnsmasq that fails', /probe dnsmasq(?: fails)?: /),
  untold: sign(
    'That changes are not told any more, and why',
    / tells no changes (?:any more: |of )/,
  ),
  missedMessages: sign('How often a message was missed', /"flushes":"[^"]*missed-message \d/),
  noServersFile: sign('The file that has no servers', /no servers found in /),
} as const;
