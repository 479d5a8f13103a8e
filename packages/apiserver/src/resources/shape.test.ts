import { describe, expect, it } from '@jest/globals';
import { checkShape, isDeeperThan, type Fields } from './shape.js';

const FIELDS: Fields = {
  name: 'string',
  count: 'int',
  target: 'intOrString',
  isOn: 'bool',
  labels: { map: 'string' },
  ports: { list: { fields: { port: 'int' } } },
  free: 'any',
};

describe('checkShape', () => {
  it('copies valid fields and drops nulls', () => {
    const value = { name: 'x', count: null, ports: [{ port: 1 }], labels: { a: 'b' }, free: [1] };
    const { value: copy, fault, unknown } = checkShape(value, FIELDS);
    expect(copy).toEqual({ name: 'x', ports: [{ port: 1 }], labels: { a: 'b' }, free: [1] });
    expect(fault).toBeUndefined();
    expect(unknown).toEqual([]);
  });

  it('takes null in a list or a map as the empty value', () => {
    const { value, fault } = checkShape({ labels: { a: null }, ports: [null] }, FIELDS);
    expect([value, fault]).toEqual([{ labels: { a: '' }, ports: [{}] }, undefined]);
  });

  it('drops unknown fields and returns their paths', () => {
    const { value, unknown } = checkShape({ ports: [{ prot: 1 }], Name: 'x' }, FIELDS);
    expect(value).toEqual({ ports: [{}] });
    expect(unknown).toEqual(['ports[0].prot', 'Name']);
  });

  it.each([
    [{ name: 1 }, 'name', 'string', 'number'],
    [{ count: 1.5 }, 'count', 'int', 'number'],
    [{ count: 2 ** 40 }, 'count', 'int', 'number'],
    [{ target: true }, 'target', 'intOrString', 'boolean'],
    [{ isOn: 'yes' }, 'isOn', 'bool', 'string'],
    [{ ports: {} }, 'ports', 'array', 'object'],
    [{ ports: [1] }, 'ports[0]', 'object', 'number'],
    [{ ports: [{ port: '80' }] }, 'ports[0].port', 'int', 'string'],
    [{ labels: { a: 1 } }, 'labels.a', 'string', 'number'],
    [{ labels: [] }, 'labels', 'object', 'array'],
  ])('finds the fault of %j', (value, path, expected, found) => {
    expect(checkShape(value, FIELDS).fault).toEqual({ path, expected, found });
  });

  it('does not accept inherited names as fields', () => {
    expect(
      checkShape(JSON.parse('{"__proto__":{"name":1},"toString":1}') as object as Fields, FIELDS),
    ).toEqual({
      value: {},
      fault: undefined,
      unknown: ['__proto__', 'toString'],
    });
  });
});

describe('isDeeperThan', () => {
  it('counts nested objects and arrays', () => {
    expect(isDeeperThan(1, 0)).toBe(false);
    expect(isDeeperThan({ a: [{}] }, 3)).toBe(false);
    expect(isDeeperThan({ a: [{}] }, 2)).toBe(true);
  });
});
