// The packs: policies to begin with, from the folder packs/. They are imported as text, so that a single-file build
// contains them. Their cases stay in that folder, for `toolgate test`.

import browser from '../../../packs/browser.yaml' with { type: 'text' };
import coding from '../../../packs/coding.yaml' with { type: 'text' };
import filesystem from '../../../packs/filesystem.yaml' with { type: 'text' };
import github from '../../../packs/github.yaml' with { type: 'text' };
import mail from '../../../packs/mail.yaml' with { type: 'text' };
import payments from '../../../packs/payments.yaml' with { type: 'text' };
import postgres from '../../../packs/postgres.yaml' with { type: 'text' };
import readOnly from '../../../packs/read-only.yaml' with { type: 'text' };
import slack from '../../../packs/slack.yaml' with { type: 'text' };
import { SEPARATOR } from '../text/name.ts';

export interface Pack {
  name: string;
  /** The description of the policy, in one line. */
  title: string;
  /** The first paragraph of the comment at the beginning. */
  description: string;
  text: string;
}

export const PACKS: readonly Pack[] = Object.entries({
  browser,
  coding,
  filesystem,
  github,
  mail,
  payments,
  postgres,
  'read-only': readOnly,
  slack,
}).map(([name, text]) => ({
  name,
  title: /^description: (.*)$/m.exec(text)?.[1] ?? '',
  description: (text.split(/^#?\n/m, 1)[0] ?? '').replaceAll(/^# /gm, '').trim().replaceAll('\n', ' '),
  text,
}));

/** The names that the rules of a pack give to tool servers. */
export function serversIn(text: string): string[] {
  const found = text.matchAll(/^ +(?:- )?(?:\{ )?tool: "?([a-z][a-z-]*)__/gm);
  return [...new Set([...found].map(([, server = '']) => server))];
}

/** The text with other names for servers, in all full names of tools. All names are replaced at once. */
export function withServers(text: string, own: ReadonlyMap<string, string>): string {
  return text.replaceAll(
    /(?<![\w-])([a-z][a-z-]*)__/g,
    (_, server: string) => (own.get(server) ?? server) + SEPARATOR,
  );
}

/** The text with another name of the policy. */
export function withName(text: string, name: string): string {
  return text.replace(/^name: (.*)$/m, (line, now) =>
    now === name ? line : `name: ${JSON.stringify(name)}`,
  );
}
