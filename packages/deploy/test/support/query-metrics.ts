/** A metric in a PromQL expression, with the labels that the expression uses. */
export interface QueriedMetric {
  readonly name: string;
  readonly labels: readonly string[];
}

const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;
const WORD = /([a-zA-Z_:][\w:]*)(\s*\()?(?:\{((?:"(?:[^"\\]|\\.)*"|[^}"])*)\})?/g;
const OPERATORS = new Set(['and', 'or', 'unless', 'bool', 'offset']);

/**
 * The metrics of a PromQL expression: every word that is not a function, operator or label. Labels that
 * the expression groups by belong to each of its metrics.
 */
export function metricsOf(expression: string): QueriedMetric[] {
  const grouped = [...expression.matchAll(GROUPING)].flatMap(([, names = '']) => words(names));
  const rest = expression.replace(GROUPING, ' ').replace(/\[[^\]]*\]/g, ' ');
  return [...rest.matchAll(WORD)].flatMap(([, name = '', call, selector = '']) => {
    if (call !== undefined || OPERATORS.has(name)) return [];
    const matched = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(
      (match) => match[1] ?? '',
    );
    return [{ name, labels: [...matched, ...grouped] }];
  });
}

function words(list: string): string[] {
  return list.split(',').map((word) => word.trim());
}

/** The samples of a text exposition: each name with all its labels. */
export function exposedMetrics(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [, name, labels = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === undefined) continue;
    const known = found.get(name) ?? new Set();
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label);
    found.set(name, known);
  }
  return found;
}
