// Every transcript, replayed against a real service of its own. A first line `# offline` means: without one.

import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN_TOKEN, startService } from '../support/service.ts';
import { Shell } from './shell.ts';
import { formatTranscript, parseTranscript, play } from './transcript.ts';

const FOLDER = join(import.meta.dir, 'transcripts');
const RECORD = process.env['TOOLGATE_TEST_RECORD'] === '1';

describe.each(readdirSync(FOLDER).sort())('%s', name => {
  test('answers as written down', async () => {
    const path = join(FOLDER, name);
    const wanted = parseTranscript(readFileSync(path, 'utf8'));
    const service = wanted.head.startsWith('# offline') ? null : await startService();
    const shell = new Shell(
      service === null ? {} : { TOOLGATE_BASE_URL: service.url, TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN },
    );
    try {
      const got = await play(shell, wanted);
      if (RECORD) writeFileSync(path, formatTranscript(got));
      else expect(formatTranscript(got)).toBe(formatTranscript(wanted));
    } finally {
      shell.close();
      await service?.close();
    }
  });
});
