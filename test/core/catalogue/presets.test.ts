// Each preset is one that can be registered: the rules of its pack know its name, its address is taken, and what it says
// for the server file is read.

import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PRESETS } from '../../../src/core/catalogue/presets.ts';
import { PACKS, serversIn } from '../../../src/core/policy-file/packs.ts';
import { urlFault } from '../../../src/guard/outgoing/addresses.ts';
import { name as serverName } from '../../../src/http/admin/connected-tool-fields.ts';
import { loadConfig } from '../../../src/settings/config.ts';
import { newDataDir } from '../../support/faults.ts';

const indented = (text: string) => text.replaceAll(/^(?=.)/gm, '  ');

describe.each(PRESETS.map(preset => [preset.name, preset] as const))('%s', (name, preset) => {
  test('is a name that its pack has rules for', () => {
    expect(serverName.safeParse(name).success).toBe(true);
    const pack = PACKS.find(each => each.name === preset.pack);
    expect(serversIn(pack?.text ?? '')).toContain(name);
  });

  test('says where that was read, and when', () => {
    expect(urlFault(preset.source)).toBeNull();
    expect(preset.readOn).toMatch(/^20\d\d-\d\d-\d\d$/);
    expect(preset.needs.every(each => each.endsWith('.'))).toBe(true);
  });

  if (preset.transport === 'http')
    test('has an address that is taken, and says what it accepts', () => {
      expect(urlFault(preset.url)).toBeNull();
      expect(Object.keys(preset.headers).length > 0).toBe(preset.accepts.includes('headers'));
    });
  else
    test('has a declaration that the server file takes, for the package that it names', () => {
      const folder = newDataDir();
      writeFileSync(join(folder, 'toolgate.yaml'), `stdioServers:\n${indented(preset.declaration)}`);
      const { stdioServers } = loadConfig({}, folder).config;
      expect(stdioServers.names).toEqual([name]);
      const { registry, name: packageName, version } = preset.package;
      const started = stdioServers.get(name)?.args.join(' ') ?? '';
      if (registry === 'npm') expect(preset.install).toEndWith(`${packageName}@${version}`);
      expect(started).toContain(
        registry === 'npm' ? `node_modules/${packageName}/` : `${packageName}@${version}`,
      );
    });
});

test('every server that a pack names has a preset, but for those that are archived', () => {
  const archived = ['puppeteer'];
  const named = PACKS.flatMap(({ text }) => serversIn(text));
  expect([...PRESETS.map(each => each.name), ...archived].sort()).toEqual([...new Set(named)].sort());
});
