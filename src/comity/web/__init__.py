"""The browser application: `comity ui` shows what lies in a folder, live, and lets people play.

It reads the files that runs write; training neither knows nor waits for it. Starlette and uvicorn come with
the extra `ui`.
"""
