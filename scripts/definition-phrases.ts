// Writes docs/definition-phrases.md from src/core/definitions/phrases.ts. test/core/definitions/phrases.test.ts compares both.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GROUPS, type PhraseGroup, VERSION } from '../src/core/definitions/phrases.ts';

const code = (text: string) => `\`${text.replaceAll('|', '/')}\``;

const section = ({ does, phrases, literals = [] }: PhraseGroup) =>
  [
    `## A text ${does}`,
    '',
    ...phrases.map(phrase => `- ${code(phrase)}`),
    ...(literals.length === 0 ? [] : ['', `As they stand: ${literals.map(code).join(' ')}`]),
  ].join('\n');

export const PAGE = `# Phrases in definitions

A tool's definition has the finding \`instructs\` where one of its texts addresses the model instead of describing the tool, as far as
its words tell. These are the phrases. Version: ${VERSION}. This page is made from \`src/core/definitions/phrases.ts\` by
\`npx bun scripts/definition-phrases.ts\`.

The finding is a hint and never a proof: honest descriptions use some of these phrases, and who knows the list can avoid it. It holds no tool.

A phrase is words in their order. \`a/b\` is one of several words, and \`…\` stands for up to five further ones. Words are compared without
regard to case, \`_\` and punctuation, after characters that are not seen have been taken out.

${GROUPS.map(section).join('\n\n')}
`;

if (import.meta.main) writeFileSync(join(import.meta.dirname, '../docs/definition-phrases.md'), PAGE);
