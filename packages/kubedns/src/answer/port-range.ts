import type { Port, PortList } from '../watch/projections.js';

/** In place of the offset of a port's label: every named port of the protocol. */
export const ANY_PORT = -1;

/** The ports of a list that a question asks for; they are next to each other. Reused for every question. */
export class PortRange {
  first = 0;
  count = 0;

  /**
   * Finds the ports with the protocol and the name in the labels at these offsets, which begin with an
   * underscore; an unnamed port never matches. Returns how many there are.
   */
  find({ ports }: PortList, name: Uint8Array, protocolAt: number, portAt: number): number {
    let first = 0;
    for (let end = ports.length; first < end;) {
      const middle = (first + end) >>> 1;
      if (compare(ports[middle]!, name, protocolAt, portAt) < 0) first = middle + 1;
      else end = middle;
    }
    let end = first;
    for (let last = ports.length; end < last;) {
      // Mostly one port matches, or none: the first tries are the next ports.
      const middle = end < first + 2 ? end : (end + last) >>> 1;
      if (compare(ports[middle]!, name, protocolAt, portAt) > 0) last = middle;
      else end = middle + 1;
    }
    this.first = first;
    // Those without a name are the first of their protocol.
    const isNamed = end > first && ports[end - 1]!.name !== '';
    this.count = isNamed ? end - first : 0;
    return this.count;
  }
}

function compare(port: Port, name: Uint8Array, protocolAt: number, portAt: number): number {
  const order = compareLabel(port.protocol, name, protocolAt);
  return order !== 0 || portAt === ANY_PORT ? order : compareLabel(port.name, name, portAt);
}

/** Compares a text with the label at `at` after its underscore, by code unit as the list is sorted. */
function compareLabel(text: string, name: Uint8Array, at: number): number {
  const length = name[at]! - 1;
  for (let i = 0; i < length && i < text.length; i++) {
    const order = text.charCodeAt(i) - name[at + 2 + i]!;
    if (order !== 0) return order;
  }
  return text.length - length;
}
