// Presets of servers that run as commands on the machine of the service. Packages have a fixed version: another one comes
// when somebody changes the declaration, and not because its publisher has released it.

import type { OverStdio, Preset } from './preset.ts';

/** The packages are installed into one folder, which only root has to be able to write. */
const FOLDER = '/opt/mcp';

function onNode(name: string, version: string): Omit<OverStdio, 'declaration'> {
  return {
    transport: 'stdio',
    package: { registry: 'npm', name, version },
    install: `npm install --prefix ${FOLDER} ${name}@${version}`,
  };
}

/** Where that installs them. */
const MODULES = `${FOLDER}/node_modules`;
const readOn = '2026-11-18';

export const AS_COMMANDS: readonly Preset[] = [
  {
    name: 'filesystem',
    title: 'Files of one folder',
    by: 'the Model Context Protocol project',
    pack: 'filesystem',
    needs: ['Node. Put in your own folder for /srv/project, in all three places.'],
    source: 'https://github.com/modelcontextprotocol/servers/tree/main/src/filesystem',
    readOn,
    ...onNode('@modelcontextprotocol/server-filesystem', '2026.8.31'),
    declaration: `filesystem:
  command: node
  args: [${MODULES}/@modelcontextprotocol/server-filesystem/dist/index.js, /srv/project]
  sandbox:
    read: [runtime, ${FOLDER}, /srv/project]
    write: [/srv/project]
    network: false
`,
  },
  {
    name: 'slack',
    title: 'Slack',
    by: 'korotovsky',
    pack: 'slack',
    needs: [
      'Node, and a Slack app with a user token.',
      'It posts only in the channels that SLACK_MCP_ADD_MESSAGE_TOOL lists; without the line it only reads.',
    ],
    source: 'https://github.com/korotovsky/slack-mcp-server',
    readOn,
    ...onNode('slack-mcp-server', '1.3.0'),
    declaration: `slack:
  command: node
  args: [${MODULES}/slack-mcp-server/bin/index.js]
  env:
    SLACK_MCP_XOXP_TOKEN: <xoxp-… of your app>
    SLACK_MCP_ADD_MESSAGE_TOOL: C0AGENTS001,C0AGENTS002
`,
  },
  {
    name: 'postgres',
    title: 'PostgreSQL',
    by: 'Crystal DBA',
    pack: 'postgres',
    needs: [
      'uv, which fetches the package when the command is first started; it needs Python 3.12 or newer.',
      'A user of the database that may read only what the agent needs.',
    ],
    source: 'https://github.com/crystaldba/postgres-mcp',
    readOn,
    transport: 'stdio',
    package: { registry: 'PyPI', name: 'postgres-mcp', version: '0.3.0' },
    install: null,
    declaration: `postgres:
  command: uvx
  args: [postgres-mcp@0.3.0, --access-mode=restricted]
  env:
    DATABASE_URI: postgresql://reader:<password>@localhost:5432/shop
`,
  },
  {
    name: 'playwright',
    title: 'A browser, by Playwright',
    by: 'Microsoft',
    pack: 'browser',
    needs: ['Node 18 or newer, and a Chromium that Playwright can start.'],
    source: 'https://github.com/microsoft/playwright-mcp',
    readOn,
    ...onNode('@playwright/mcp', '0.0.83'),
    declaration: `playwright:
  command: node
  args: [${MODULES}/@playwright/mcp/cli.js, --headless, --isolated]
`,
  },
  {
    name: 'chrome-devtools',
    title: 'A browser, by Chrome DevTools',
    by: 'Google',
    pack: 'browser',
    needs: ['Node 20.19, 22.12 or newer, and Google Chrome.'],
    source: 'https://github.com/ChromeDevTools/chrome-devtools-mcp',
    readOn,
    ...onNode('chrome-devtools-mcp', '1.11.0'),
    declaration: `chrome-devtools:
  command: node
  args: [${MODULES}/chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js, --headless, --isolated]
  env:
    CHROME_DEVTOOLS_MCP_NO_USAGE_STATISTICS: "1"
`,
  },
  {
    name: 'gmail',
    title: 'Gmail',
    by: 'GongRzhe',
    pack: 'mail',
    needs: [
      'Node, and an OAuth client of a Google Cloud project with the Gmail API.',
      'A person signs in once, as the user that the service runs as: the command with the argument auth.',
    ],
    source: 'https://github.com/GongRzhe/Gmail-MCP-Server',
    readOn,
    ...onNode('@gongrzhe/server-gmail-autoauth-mcp', '1.1.11'),
    declaration: `gmail:
  command: node
  args: [${MODULES}/@gongrzhe/server-gmail-autoauth-mcp/dist/index.js]
`,
  },
  {
    name: 'email',
    title: 'Mail over IMAP and SMTP',
    by: 'codefuturist',
    pack: 'mail',
    needs: ['Node 22 or newer, and a password for programs of the mailbox.'],
    source: 'https://github.com/codefuturist/email-mcp',
    readOn,
    ...onNode('@codefuturist/email-mcp', '0.2.0'),
    declaration: `email:
  command: node
  args: [${MODULES}/@codefuturist/email-mcp/dist/main.js, stdio]
  env:
    MCP_EMAIL_ADDRESS: agent@example.com
    MCP_EMAIL_PASSWORD: <password for programs>
    MCP_EMAIL_IMAP_HOST: imap.example.com
    MCP_EMAIL_SMTP_HOST: smtp.example.com
`,
  },
];
