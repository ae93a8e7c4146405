"""A service that takes URLs, behind a guard: `uvicorn fastapi_preview:app`, then /?url=http://evil.example/."""
import fastapi
import mankai
import mankai.asgi

app = fastapi.FastAPI()
# In a service: mankai.Guard.open("blocked.mkg"), the file that `mankai guard build` or `mankai guard update` writes.
guard, _ = mankai.Guard.build([["evil.example"]])
app.add_middleware(mankai.asgi.GuardMiddleware, guard=guard, parameters=("url",))
popular = mankai.Hot(half_life=600)


@app.get("/")
async def preview(url: str):
    popular.observe(mankai.url.canonical(url))
    return {"preview of": url, "hottest": [entry.text for entry in popular.top(3)]}
