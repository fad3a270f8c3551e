// Makes the Python packages with the client's own build back end, called as any front end would (PEP 517), without a
// network.

import { join } from 'node:path';
import { ROOT } from './bundle.ts';

const CALL = `
import sys
sys.path.insert(0, "backend")
import toolgate_build
print(toolgate_build.build_wheel(sys.argv[1]))
print(toolgate_build.build_sdist(sys.argv[1]))
`;

export function packPython(to: string): string[] {
  const { exitCode, stdout, stderr } = Bun.spawnSync(['python3', '-c', CALL, to], {
    cwd: join(ROOT, 'clients/python'),
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  });
  if (exitCode !== 0)
    throw new Error(`the Python packages could not be made (Python 3.11 or newer?):\n${stderr}`);
  return stdout
    .toString()
    .trim()
    .split('\n')
    .map(name => join(to, name));
}
