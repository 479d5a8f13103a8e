/** A field of a message: its number, and what is in it. */
export type FieldType = 'string' | 'int' | 'bool' | 'map' | MessageType;
export type MessageType = Readonly<Record<string, readonly [number, FieldType]>>;
/** The fields of a message by name; an array repeats a field. */
export type Message = Readonly<Record<string, unknown>>;

const VARINT = 0;
const BYTES = 2;
const MAP_ENTRY: MessageType = { key: [1, 'string'], value: [2, 'string'] };

/** Encodes a message as proto3 has it; throws for a field that the type does not name. Integers are not negative. */
export function encode(message: Message, type: MessageType): Buffer {
  const parts = Object.entries(message).flatMap(([name, value]) => {
    const [number, of] = type[name] ?? [];
    if (number === undefined || of === undefined) throw new Error(`no field ${name}`);
    if (of === 'map') {
      const entries = Object.entries(value as Message).map(([key, text]) => ({ key, value: text }));
      return entries.map((entry) => encodeField(number, MAP_ENTRY, entry));
    }
    return (Array.isArray(value) ? value : [value]).map((item) => encodeField(number, of, item));
  });
  return Buffer.concat(parts);
}

function encodeField(number: number, of: FieldType, value: unknown): Buffer {
  if (of === 'int' || of === 'bool') {
    return Buffer.concat([varint((number << 3) | VARINT), varint(Number(value))]);
  }
  const bytes =
    of === 'string' ? Buffer.from(value as string) : encode(value as Message, of as MessageType);
  return Buffer.concat([varint((number << 3) | BYTES), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** The contents of a message's fields of one number that have a length: texts, or messages in turn. */
export function fieldsOf(message: Buffer, wanted: number): Buffer[] {
  const found: Buffer[] = [];
  let place = 0;
  const read = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = message.readUInt8(place++);
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  };
  while (place < message.length) {
    const tag = read();
    if ((tag & 7) === VARINT) {
      read();
      continue;
    }
    if ((tag & 7) !== BYTES) throw new Error(`a field of wire type ${tag & 7}`);
    const length = read();
    if (tag >> 3 === wanted) found.push(message.subarray(place, place + length));
    place += length;
  }
  return found;
}

/** The first of {@link fieldsOf} as text, '' where there is none. */
export function textOf(message: Buffer, wanted: number): string {
  return fieldsOf(message, wanted)[0]?.toString() ?? '';
}
