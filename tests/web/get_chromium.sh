#!/bin/sh
# Installs Chromium where there is none and this may be done; says so where it cannot. Never fails.
for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
    if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing chromium"
    { apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium; } >/dev/null 2>&1 && exit 0
fi
echo "There is no Chromium, and it cannot be installed here: apt-get install chromium as root, or CHROMIUM=PATH."
exit 0
