import { RE2JS, RE2JSException } from 're2js';

/** A compiled expression: the steps of its program, how many groups it has, and their names. */
export interface CompiledRe2 {
  readonly steps: number;
  readonly groups: number;
  readonly groupNames: Readonly<Record<string, number>>;
  test(text: string): boolean;
  /** The whole match and its groups, '' for one without a part in it; undefined without a match. */
  find(text: string): readonly string[] | undefined;
}

/** The only place that knows re2js, which is loaded for the first expression of a Corefile. Undefined for what is no expression of Go. */
export function compileRe2(source: string): CompiledRe2 | undefined {
  let re2: RE2JS;
  try {
    re2 = RE2JS.compile(source);
  } catch (error) {
    if (error instanceof RE2JSException) return undefined;
    throw error;
  }
  const groups = re2.groupCount();
  return {
    steps: re2.programSize(),
    groups,
    groupNames: re2.namedGroups(),
    test: (text) => re2.test(text),
    find: (text) => {
      const matcher = re2.matcher(text);
      if (!matcher.find()) return undefined;
      return Array.from({ length: groups + 1 }, (_, group) => matcher.group(group) ?? '');
    },
  };
}
