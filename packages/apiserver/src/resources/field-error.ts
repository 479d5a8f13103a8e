/** One reason why an object is refused, in the words of `field.Error` of apimachinery. */
export interface FieldError {
  readonly reason: string;
  /** Path of the field, such as `spec.ports[0].name`. */
  readonly field: string;
  readonly message: string;
}

function quoted(value: unknown): string {
  return JSON.stringify(value ?? null);
}

/** The field is missing. */
export function required(field: string, detail = ''): FieldError {
  const message = detail ? `Required value: ${detail}` : 'Required value';
  return { reason: 'FieldValueRequired', field, message };
}

/** The value is not acceptable because of `detail`. */
export function invalidValue(field: string, value: unknown, detail: string): FieldError {
  return {
    reason: 'FieldValueInvalid',
    field,
    message: `Invalid value: ${quoted(value)}: ${detail}`,
  };
}

/** The value is not one of the `supported` ones. */
export function unsupported(
  field: string,
  value: unknown,
  supported: readonly string[],
): FieldError {
  const list = supported.map((item) => `"${item}"`).join(', ');
  const message = `Unsupported value: ${quoted(value)}: supported values: ${list}`;
  return { reason: 'FieldValueNotSupported', field, message };
}

/** The value occurs twice where it must be unique. */
export function duplicate(field: string, value: unknown): FieldError {
  return { reason: 'FieldValueDuplicate', field, message: `Duplicate value: ${quoted(value)}` };
}

/** The field may not be set here. */
export function forbiddenField(field: string, detail: string): FieldError {
  return { reason: 'FieldValueForbidden', field, message: `Forbidden: ${detail}` };
}

/** The list has more than `limit` items. */
export function tooMany(field: string, count: number, limit: number): FieldError {
  const message = `Too many: ${count}: must have at most ${limit} items`;
  return { reason: 'FieldValueTooMany', field, message };
}

/** The text or map has more than `limit` bytes. */
export function tooLong(field: string, limit: number): FieldError {
  const message = `Too long: may not be more than ${limit} bytes`;
  return { reason: 'FieldValueTooLong', field, message };
}
