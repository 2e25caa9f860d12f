#!/usr/local/bin/node
// Node.js takes a file without an extension for CommonJS, so the program is imported and not required.
void import("/opt/bailiff/dist/main/cli.js");
