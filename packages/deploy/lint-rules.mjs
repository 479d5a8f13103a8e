// Rules of oxlint that are ours.

const SPREAD_LITERAL = 'Write the properties one below the other, without a spread.';
const BARE_SKIP = 'A skipped test says why: unless(reason, it) of @kube-dns/testkit.';

/** A rule that reports what these selectors of ESLint find. */
const rule = (message, ...selectors) => ({
  create: (context) =>
    Object.fromEntries(
      selectors.map((selector) => [selector, (node) => context.report({ node, message })]),
    ),
});

export default {
  meta: { name: 'own' },
  rules: {
    'no-spread-literal': rule(
      SPREAD_LITERAL,
      'ObjectExpression > SpreadElement > ObjectExpression',
    ),
    'no-bare-skip': rule(
      BARE_SKIP,
      'CallExpression > MemberExpression[object.name=/^(it|describe)$/] > Identifier[name="skip"]',
      'ConditionalExpression > MemberExpression > Identifier[name="skip"]',
    ),
  },
};
