// Lists of shell commands, each of which is one call: RedCode's scripts and GTFOBins' tricks, which are attacks, and the examples of
// tldr and nl2bash, which are ordinary.

import * as fs from 'node:fs';
import { parse } from 'yaml';
import { type Repository, repositoryFile } from './cache.ts';

export interface Listed {
  /** What it is called in its list; several may have the same. */
  name: string;
  command: string;
}

export const COMMANDS_OF: Record<Repository, () => Listed[]> = {
  RedCode: redCode,
  GTFOBins: gtfoBins,
  tldr,
  nl2bash,
};

function redCode(): Listed[] {
  const folder = repositoryFile('RedCode', 'dataset/RedCode-Exec/bash2text_dataset_json');
  const files = fs.readdirSync(folder).filter(file => file.endsWith('.json'));
  return files.flatMap(file => {
    const cases = JSON.parse(fs.readFileSync(`${folder}/${file}`, 'utf8')) as {
      Index: string;
      Code: string;
    }[];
    return cases.map(({ Index, Code }) => ({ name: Index, command: Code }));
  });
}

interface Trick {
  code?: string;
  contexts?: Record<string, { code?: string } | null>;
}

/** A trick, and its forms for programs with other rights. */
function gtfoBins(): Listed[] {
  const folder = repositoryFile('GTFOBins', '_gtfobins');
  return fs.readdirSync(folder).flatMap(name => {
    const text = fs.readFileSync(`${folder}/${name}`, 'utf8').replace(/^\.\.\.\s*$/m, '');
    const { functions = {} } = (parse(text.replace(/^---\n/, '')) ?? {}) as {
      functions?: Record<string, Trick[]>;
    };
    const tricks = Object.values(functions).flat();
    const codes = tricks.flatMap(({ code, contexts = {} }) => [
      code,
      ...Object.values(contexts).map(context => context?.code),
    ]);
    const commands = new Set(codes.filter(code => code !== undefined));
    return [...commands].map(command => ({ name, command }));
  });
}

/** Of the pages in English, those for every system and for Linux. */
function tldr(): Listed[] {
  return ['common', 'linux'].flatMap(part => {
    const folder = repositoryFile('tldr', 'pages', part);
    return fs.readdirSync(folder).flatMap(file => {
      const lines = fs.readFileSync(`${folder}/${file}`, 'utf8').split('\n');
      const examples = lines.flatMap(line => /^`(.+)`$/.exec(line)?.[1] ?? []);
      return examples.map(example => ({ name: file.replace('.md', ''), command: filledIn(example) }));
    });
  });
}

/** Each place of an example gets its own first example: `{{[-a|--all]}} {{path/to/file1 path/to/file2 ...}}`. */
export function filledIn(example: string): string {
  return example
    .replaceAll(/(?<!\\)\{\{(.*?)\}\}(?!\})/g, (_, place: string) => {
      const options = /^\[(.*)\]$/.exec(place)?.[1] ?? place.replaceAll(/\[[^\]]*\]/g, '');
      return (options.split('|')[0] ?? '').replace(/ ?\.\.\.$/, '');
    })
    .replaceAll(/\\(?=\{\{|\}\})/g, '');
}

function nl2bash(): Listed[] {
  const lines = fs.readFileSync(repositoryFile('nl2bash', 'data/bash/all.cm'), 'utf8').split('\n');
  return lines.filter(line => line !== '').map(command => ({ name: command.split(' ')[0] ?? '', command }));
}
