import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

const SPREAD_LITERAL = {
  selector: 'ObjectExpression > SpreadElement > ObjectExpression',
  message: 'Write the properties one below the other, without a spread.',
};

export default defineConfig(
  { ignores: ['**/dist/**', '**/node_modules/**', '**/.turbo/**'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // Byte code is index arithmetic; a `!` beside the bound that was just checked reads better
      // than a fallback that can never happen.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'no-console': 'error',
    },
  },
  {
    rules: {
      'no-restricted-syntax': ['error', SPREAD_LITERAL],
    },
  },
  {
    files: ['**/test/**/*.ts', '**/*.test.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        SPREAD_LITERAL,
        {
          selector:
            'CallExpression > MemberExpression[object.name=/^(it|describe)$/] > Identifier[name="skip"]',
          message: 'A skipped test says why: unless(reason, it) of @kube-dns/testkit.',
        },
        {
          selector: 'ConditionalExpression > MemberExpression > Identifier[name="skip"]',
          message: 'A skipped test says why: unless(reason, it) of @kube-dns/testkit.',
        },
      ],
    },
  },
  {
    files: ['**/*.{js,mjs,cjs}'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        setInterval: 'readonly',
        clearInterval: 'readonly',
      },
    },
  },
  {
    files: ['packages/docs/theme/*.js'],
    languageOptions: {
      sourceType: 'script',
      globals: {
        document: 'readonly',
        localStorage: 'readonly',
        location: 'readonly',
        matchMedia: 'readonly',
        URLSearchParams: 'readonly',
      },
    },
  },
);
