import jsdoc from "eslint-plugin-jsdoc";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist/", "tools/benchmarks/", "coverage/", ".cache/", "src/**/lua/*scripts.ts", "examples/apps/"] },
  ...tseslint.configs.recommended,
  {
    files: ["**/*.ts", "**/*.tsx"],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/consistent-type-imports": ["error", { disallowTypeAnnotations: false }],
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_$" }],
      eqeqeq: "error",
      "no-console": "error",
    },
  },
  {
    files: ["src/**/*.ts", "cli/**/*.ts", "cli/**/*.tsx", "testing/**/*.ts"],
    plugins: { jsdoc },
    rules: {
      "jsdoc/require-jsdoc": [
        "error",
        {
          publicOnly: true,
          require: { ClassDeclaration: true, FunctionDeclaration: true, MethodDefinition: false },
          contexts: [
            "TSInterfaceDeclaration",
            "TSTypeAliasDeclaration",
            "ExportNamedDeclaration > VariableDeclaration",
          ],
        },
      ],
      "max-lines": ["error", { max: 400, skipComments: true, skipBlankLines: true }],
      "max-lines-per-function": ["error", { max: 40, skipComments: true, skipBlankLines: true }],
    },
  },
  {
    // What messages hold is shown as text: nothing makes HTML of a string.
    files: ["cli/inspector/**/*.{ts,tsx}"],
    rules: {
      "no-restricted-syntax": [
        "error",
        ...["dangerouslySetInnerHTML", "innerHTML", "outerHTML", "insertAdjacentHTML", "srcdoc", "srcDoc"].map(
          (name) => ({
            selector: `:matches(JSXAttribute[name.name="${name}"], MemberExpression[property.name="${name}"])`,
            message: "What messages hold is shown as text, never as HTML.",
          }),
        ),
        {
          selector: 'MemberExpression[object.name="document"][property.name=/^write/]',
          message: "What messages hold is shown as text, never as HTML.",
        },
      ],
    },
  },
  { files: ["**/*.cjs"], rules: { "@typescript-eslint/no-require-imports": "off" } },
  {
    files: ["examples/**/*.ts", "tools/scripts/**/*.mjs", "__tests__/support/**/*.ts", "tools/testkit/**/*.ts"],
    rules: { "no-console": "off" },
  },
);
